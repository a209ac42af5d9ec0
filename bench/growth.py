"""How cost grows with entities, triples, relations, batch and dimension.

    python -m bench.growth

On generated graphs, one size varied at a time; the exponent is the slope of a straight line through
the logarithms: 1 is proportional, 0 no growth.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.generated import generated
from bench.report import leave, parser
from bench.steps import Steps, settings
from bench.turns import Work, interleaved, sides

HOW = "median seconds; the exponent is fitted to all sizes of a row by least squares in logarithms"
COLUMNS = ("what", "grows", "sizes", "seconds", "exponent")


@dataclass(frozen=True)
class Setting:
    """What is measured, and on what graph."""

    what: str
    entities: int = 15_000
    relations: int = 200
    triples: int = 100_000
    batch: int = 128
    dim: int = 200


SERIES = (
    ("ConvE 1-N batch", "entities", (10_000, 20_000, 40_000, 80_000)),
    ("ConvE 1-N batch", "batch", (64, 128, 256, 512)),
    ("ConvE 1-N batch", "dim", (50, 100, 200, 400)),
    ("ConvE 1-N batch", "relations", (50, 200, 800, 3_200)),
    ("TuckER 1-N batch", "relations", (50, 200, 800, 3_200)),
    ("ConvE 1-K batch", "entities", (10_000, 40_000, 160_000, 640_000)),
    ("graph, index and degrees", "triples", (100_000, 200_000, 400_000, 800_000)),
    ("graph, index and degrees", "relations", (100, 400, 1_600, 6_400)),
    ("partners of an epoch", "triples", (100_000, 200_000, 400_000, 800_000)),
    ("ranks of 200 queries", "entities", (10_000, 40_000, 160_000, 640_000)),
)


def factory(setting: Setting) -> Work:
    """Work of one size."""
    kg = generated(setting.entities, setting.relations, setting.triples)
    if setting.what.startswith("graph"):
        return lambda count: _build(kg, count)
    if setting.what.startswith("partners"):
        return lambda count: _partners(kg, count)
    decoder, regime = setting.what.lower().split()[:2]
    if setting.what.startswith("ranks"):
        decoder, regime = "distmult", "1-n"
    steps = Steps(kg, settings(decoder, regime, setting.batch, dim=setting.dim))
    if setting.what.startswith("ranks"):
        return lambda count: _rank(steps, count)
    return steps


def _build(kg: Any, count: int) -> None:
    from dglkgmix.kg.graph import KnowledgeGraph

    for _ in range(count):
        again = KnowledgeGraph.from_arrays(
            kg.train, kg.valid, kg.test, entities=kg.entities, relations=kg.relations
        )
        again.graph, again.known_index, again.degrees.edge_tail_relation  # noqa: B018


def _partners(kg: Any, count: int) -> None:
    from dglkgmix.sampling.partners import PartnerSampler

    for seed in range(count):
        PartnerSampler(kg, 5, 5).draw(seed)


def _rank(steps: Steps, count: int) -> None:
    for _ in range(count):
        steps.loop._validation()


def exponent(sizes: list[float], seconds: list[float]) -> float:
    """Slope of log seconds over log sizes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def series(side: Any, what: str, grows: str, sizes: tuple[int, ...], seconds: float) -> Any:
    """A row: about ``seconds`` of measuring for each size."""
    medians = []
    for size in sizes:
        setting = replace(Setting(what), **{grows: size})
        side.turn(setting, 1)
        started = time.perf_counter()
        side.turn(setting, 1)
        units = max(1, math.floor(seconds / 3 / (time.perf_counter() - started)))
        (timing,) = interleaved([(side, setting, units)], 3, 1)
        medians.append(timing.median)
    print(f"  {what}, {grows}", flush=True)
    return {
        "what": what, "grows": grows, "sizes": list(sizes), "seconds": medians,
        "exponent": exponent(list(sizes), medians),
    }  # fmt: skip


def main() -> None:
    options = parser(__doc__).parse_args()
    chosen = SERIES
    if options.tiny:
        picked = (SERIES[0], SERIES[6], SERIES[8], SERIES[9])
        chosen = tuple((what, grows, (500, 1_000)) for what, grows, _ in picked)
    with sides(factory) as (side,):
        rows = [series(side, *row, 0.05 if options.tiny else 1.0) for row in chosen]
    leave("growth", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
