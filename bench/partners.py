"""Mixing partners of a whole epoch, beside a plain draw in Python.

    python -m bench.partners

η = 5 and k = 5. dglkgmix draws whole epochs with DGL's neighbour sampler; the plain side goes
through a stated number of triples with ``random.sample``, and its time is scaled to all of them.
"""

from __future__ import annotations

from typing import Any

from bench.report import leave, parser
from bench.steps import graph
from bench.textbook import PartnerIndex
from bench.turns import Work, interleaved, sides

HOW = "median seconds to draw an epoch's partners; plain: of so many triples (units), scaled to all"
COLUMNS = ("graph", "triples", "samples", "ours.epoch_seconds", "plain.epoch_seconds", "ratio")


def ours(name: str) -> Work:
    from dglkgmix.sampling.partners import PartnerSampler

    sampler = PartnerSampler(graph(name), 5, 5)

    def work(count: int) -> dict[str, Any]:
        for seed in range(count):
            drawn = sampler.draw(seed)
        return {"samples": len(drawn)}

    return work


def plain(name: str) -> Work:
    index = PartnerIndex(graph(name).edges)

    def work(count: int) -> None:
        index.draw(list(range(count)), 5, 5)

    return work


def main() -> None:
    options = parser(__doc__).parse_args()
    names = ("world",) if options.tiny else ("fb15k-237", "nell-995", "codex-m")
    rows = []
    with sides(ours, plain) as (mine, other):
        for name in names:
            triples = graph(name).num_edges
            players = [(mine, name, 1), (other, name, min(triples, 20_000))]
            drawn, by_hand = interleaved(players, 5, 1)
            row = {"graph": name, "triples": triples, "samples": drawn.notes["samples"]}
            row["ours"] = drawn.report() | {"epoch_seconds": drawn.median}
            row["plain"] = by_hand.report() | {"epoch_seconds": by_hand.median * triples}
            row["ratio"] = row["plain"]["epoch_seconds"] / drawn.median
            rows.append(row)
    leave("partners", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
