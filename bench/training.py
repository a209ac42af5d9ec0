"""Training: batches per decoder, regime and strategy, beside a textbook's PyTorch.

    python -m bench.training

Both sides run in processes of their own, turn about, with all cores. A stated number of batches is
measured after a warm-up, and scaled to the epoch by the number of its batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from bench import textbook
from bench.report import leave, parser
from bench.steps import Steps, graph, settings
from bench.turns import Side, Work, interleaved, sides

HOW = (
    "seconds of an epoch = median seconds of a batch over the repeats x batches of an epoch; "
    "sides take turns in processes of their own"
)
COLUMNS = (
    "case", "graph", "batch", "ours.epoch_seconds", "textbook.epoch_seconds", "ratio",
    "to_standard",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A training to measure: ``batches`` a turn."""

    case: str
    graph: str
    decoder: str
    regime: str = "1-n"
    batch: int = 128
    strategy: str = "standard"
    batches: int = 20
    textbook: bool = False


CASES = (
    Case("ConvE 1-N", "fb15k-237", "conve", batches=30, textbook=True),
    Case("ConvE 1-N, batch 512", "fb15k-237", "conve", batch=512, batches=8, textbook=True),
    Case("TuckER 1-N", "fb15k-237", "tucker", batches=15, textbook=True),
    Case("DistMult 1-N", "fb15k-237", "distmult", batches=25, textbook=True),
    Case("ConvE mixup 1-K", "codex-m", "conve", "1-k", strategy="mixup", textbook=True),
    Case("ComplEx 1-N", "fb15k-237", "complex", batches=15),
    Case("RESCAL 1-N", "fb15k-237", "rescal", batches=10),
    Case("TransE 1-N", "fb15k-237", "transe", batches=1),
    Case("ConvE mixup 1-K", "fb15k-237", "conve", "1-k", strategy="mixup", batches=15),
    Case("ConvE mixup 1-K", "nell-995", "conve", "1-k", strategy="mixup", batches=10),
)
STRATEGIES = ("standard", "mixup", "oversample", "reweight", "focal", "logit-adjustment")


def strategies() -> list[Case]:
    """Every strategy in both regimes, on CoDEx-M; standard first, as the others relate to it."""
    return [
        Case(f"{name} {regime.upper()}", "codex-m", "conve", regime, strategy=name, batches=8)
        for regime in ("1-n", "1-k")
        for name in STRATEGIES
    ]


def ours(case: Case) -> Work:
    """dglkgmix's side."""
    return Steps(graph(case.graph), settings(case.decoder, case.regime, case.batch, case.strategy))


def plain(case: Case) -> Work:
    """The textbook's side."""
    steps = _plain_steps(case)

    def work(count: int) -> None:
        for _ in range(count):
            next(steps)

    return work


def _plain_steps(case: Case) -> Iterator[None]:
    kg = graph(case.graph)
    kinds = {
        "conve": textbook.ConvE, "tucker": textbook.TuckER, "distmult": textbook.DistMult
    }  # fmt: skip
    model = kinds[case.decoder](kg.num_entities, kg.num_query_relations)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if case.strategy == "mixup":
        partners = textbook.PartnerIndex(kg.edges)
        while True:
            yield from textbook.mixup_epoch(model, optimizer, partners, case.batch)
    index = textbook.QueryIndex(kg.edges, kg.num_entities)
    while True:
        yield from textbook.train_epoch(model, optimizer, index, case.batch)


def measure(case: Case, mine: Side, other: Side, repeats: int) -> dict[str, Any]:
    """A row: both sides where the textbook has the case."""
    players = [(mine, case, case.batches)]
    if case.textbook:
        players.append((other, case, max(1, case.batches // 2)))
    timings = interleaved(players, repeats)
    epoch = timings[0].notes["batches_of_epoch"]
    row: dict[str, Any] = {**asdict(case), "batches_of_epoch": epoch}
    for name, timing in zip(("ours", "textbook"), timings, strict=False):
        row[name] = {**timing.report(), "epoch_seconds": timing.median * epoch}
    if case.textbook:
        row["ratio"] = timings[1].median / timings[0].median
    else:
        del row["textbook"]
    print(f"  {case.case}, {case.graph}: {row['ours']['epoch_seconds']:.1f} s", flush=True)
    return row


def _related(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each strategy's epoch in units of the standard one's in the same regime."""
    base = {row["regime"]: row["ours"] for row in rows if row["strategy"] == "standard"}
    return [
        {**row, "to_standard": row["ours"]["epoch_seconds"] / base[row["regime"]]["epoch_seconds"]}
        for row in rows
    ]


def main() -> None:
    options = parser(__doc__).parse_args()
    cases, others, repeats = CASES, strategies(), 5
    if options.tiny:
        tiny = {"graph": "world", "batch": 32, "batches": 2}
        cases = tuple(Case(**{**asdict(case), **tiny}) for case in (CASES[0], CASES[4]))
        others = [Case(**{**asdict(case), **tiny}) for case in others[:2]]
        repeats = 2
    with sides(ours, plain) as (mine, other):
        rows = [measure(case, mine, other, repeats) for case in cases]
        rows += _related([measure(case, mine, other, min(3, repeats)) for case in others])
    leave("training", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
