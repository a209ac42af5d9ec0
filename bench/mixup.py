"""KG-Mixup's epoch beside the standard one's: s of k draws, and 1-K by query.

    python -m bench.mixup

ConvE with d = 200, η = k = 5 and K = 100, on one thread. All ways of a graph are measured in turns
in one process, and what counts is the processor's time: it changes little beside other work.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any, Literal

import torch

from bench.report import leave, parser
from bench.steps import Steps, graph, settings
from dglkgmix.config import StrategyConfig

HOW = (
    "processor seconds of an epoch = those of all measured batches / their number x batches of an "
    "epoch; the ways of a graph take turns; 1-K by query: training.group_queries"
)
COLUMNS = ("graph", "way", "mixup", "epoch_seconds", "to_standard", "to_1_k")


@dataclass(frozen=True)
class Way:
    """A regime, and the draws of mixup; None for the standard strategy."""

    name: str
    regime: str
    draws: int | Literal["all"] | None
    by_query: bool = False


WAYS = [
    Way(name, regime, draws, by_query)
    for name, regime, by_query in (
        ("1-N", "1-n", False), ("1-K", "1-k", False), ("1-K by query", "1-k", True)
    )
    for draws in (None, "all", 2, 1)
]  # fmt: skip


def steps(kg: Any, way: Way, batch: int) -> Steps:
    """A training of its own."""
    config = settings(regime=way.regime, batch=batch, group_queries=way.by_query)
    if way.draws is not None:
        strategy = StrategyConfig(name="mixup", draws=way.draws)
        config = dataclasses.replace(config, strategy=strategy)
    return Steps(kg, config)


def measure(name: str, batch: int, turns: int, batches: int) -> list[dict[str, Any]]:
    """The rows of a graph."""
    kg = graph(name)
    works = {way: steps(kg, way, batch) for way in WAYS}
    spent = {way: [] for way in WAYS}
    for turn in range(1 + turns):
        for way, work in works.items():
            started = time.process_time()
            work(batches if turn else 1)
            if turn:
                spent[way].append(time.process_time() - started)
    epoch = {
        way: sum(spent[way]) / (turns * batches) * len(work.loop) for way, work in works.items()
    }
    rows = []
    for way in WAYS:
        standard = epoch[dataclasses.replace(way, draws=None)]
        today = epoch[Way("1-K", "1-k", None if way.draws is None else "all")]
        rows.append({
            "graph": name, "batch": batch, "way": way.name, "turns": spent[way],
            "mixup": "standard" if way.draws is None else f"mixup, {way.draws}",
            "batches_of_epoch": len(works[way].loop), "epoch_seconds": epoch[way],
            "to_standard": epoch[way] / standard, "to_1_k": today / epoch[way],
        })  # fmt: skip
        print(f"  {name}, {way.name}, {way.draws}: {epoch[way]:.1f} s", flush=True)
    return rows


def main() -> None:
    options = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    names, batch, turns, batches = ("fb15k-237", "codex-m"), 128, 4, 10
    if options.tiny:
        names, batch, turns, batches = ("world",), 32, 1, 1
    rows = [row for name in names for row in measure(name, batch, turns, batches)]
    leave("mixup", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
