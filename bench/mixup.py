"""KG-Mixup's epoch beside the standard one's: draws, 1-K by query, rivals of a softmax.

    python -m bench.mixup

η = k = 5, on one thread: ConvE with d = 200 and K = 100, and ComplEx with d = 512, softmax
cross-entropy, N3, Adagrad and batches of 500. All ways of a graph are measured in turns
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
COLUMNS = ("graph", "way", "mixup", "rivals", "epoch_seconds", "to_standard", "to_1_k")


@dataclass(frozen=True)
class Way:
    """A regime, and the draws of mixup; None for the standard strategy.

    One half of a draw is one partner of half the triples. ``batches`` are trained on as one. With
    ``rivals`` it is ComplEx with softmax, else ConvE.
    """

    name: str
    regime: str
    draws: float | Literal["all"] | None
    by_query: bool = False
    batches: int = 1
    rivals: int | Literal["all"] | None = None


WAYS = [
    Way(name, regime, draws, by_query, batches)
    for name, regime, by_query, batches in (
        ("1-N", "1-n", False, 1), ("1-K", "1-k", False, 1), ("1-K by query", "1-k", True, 1),
        ("1-K by query, batch 512", "1-k", True, 4), ("1-K by query, batch 1,024", "1-k", True, 8),
    )
    for draws in (None, "all", 2, 1, 0.5)
]  # fmt: skip
SOFTMAX = [
    Way("1-N, softmax", "1-n", draws, rivals=rivals)
    for draws, rivals in (
        (None, 512), ("all", "all"), ("all", 512), (1, "all"), (1, 512), (0.5, 512),
    )
]  # fmt: skip
COMPLEX = {"loss": "ce", "optimizer": "adagrad", "lr": 0.1, "n3": 0.02}


def steps(kg: Any, way: Way, batch: int) -> Steps:
    """A training of its own."""
    size = batch * way.batches
    if way.rivals is None:
        config = settings(regime=way.regime, batch=size, group_queries=way.by_query)
    else:
        config = settings("complex", batch=size, dim=512, **COMPLEX)
    if way.draws is not None:
        strategy = StrategyConfig(name="mixup", rivals=way.rivals or 512)
        if way.draws != "all":
            one, share = max(1, int(way.draws)), min(1.0, way.draws)
            strategy = dataclasses.replace(strategy, draws=one, share=share)
        config = dataclasses.replace(config, strategy=strategy)
    return Steps(kg, config)


def measure(
    name: str, ways: list[Way], batch: int, turns: int, batches: int
) -> list[dict[str, Any]]:
    """The rows of a graph."""
    kg = graph(name)
    works = {way: steps(kg, way, batch) for way in ways}
    spent = {way: [] for way in ways}
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
    for way in ways:
        standard = epoch[next(w for w in ways if w.name == way.name and w.draws is None)]
        rows.append({
            "graph": name, "batch": batch, "way": way.name, "turns": spent[way],
            "mixup": "standard" if way.draws is None else f"mixup, {way.draws}",
            "batches_of_epoch": len(works[way].loop), "epoch_seconds": epoch[way],
            "to_standard": epoch[way] / standard,
        })  # fmt: skip
        if way.rivals is None:
            today = epoch[Way("1-K", "1-k", None if way.draws is None else "all")]
            rows[-1]["to_1_k"] = today / epoch[way]
        elif way.draws is not None:
            rows[-1]["rivals"] = way.rivals
        print(f"  {name}, {way.name}, {way.draws}: {epoch[way]:.1f} s", flush=True)
    return rows


def main() -> None:
    options = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    cases = [(name, WAYS, 128, 4, 10) for name in ("fb15k-237", "codex-m")]
    cases += [(name, SOFTMAX, 500, 4, 10) for name in ("fb15k-237", "codex-s")]
    if options.tiny:
        cases = [("world", WAYS, 32, 1, 1), ("world", SOFTMAX, 32, 1, 1)]
    rows = [row for case in cases for row in measure(*case)]
    leave("mixup", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
