"""A small graph out of a large one: the triples between randomly drawn entities, split at random.

    python -m bench.cut GRAPH OUT [--triples 5000] [--seed 0]

Entities are drawn one after another until GRAPH, all its splits together, has so many distinct
triples between them; of the last entity's, the first by name are taken. OUT gets train.tsv,
valid.tsv and test.tsv with 80, 10 and 10 % of these.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.sources import load
from dglkgmix.kg.writers import write

SHARES = {"train": (0.0, 0.8), "valid": (0.8, 0.9), "test": (0.9, 1.0)}
Row = tuple[str, str, str]


def named(kg: KnowledgeGraph, split: str) -> list[Row]:
    """The rows of a split as names."""
    rows = kg.split(split).tolist()
    return [(kg.entities[h], kg.relations[r], kg.entities[t]) for h, r, t in rows]


def cut(rows: set[Row], count: int, seed: int) -> list[Row]:
    """``count`` of the rows, in random order."""
    chance = random.Random(seed)
    drawn = sorted({name for head, _, tail in rows for name in (head, tail)})
    chance.shuffle(drawn)
    place = {name: i for i, name in enumerate(drawn)}
    found = sorted(rows, key=lambda row: (max(place[row[0]], place[row[2]]), row))[:count]
    chance.shuffle(found)
    return found


def main() -> None:
    """Cut, and write the splits."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("graph")
    parser.add_argument("out", type=Path)
    parser.add_argument("--triples", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    kg = load(given.graph)
    rows = {row for split in SHARES for row in named(kg, split)}
    if not 0 < given.triples <= len(rows):
        parser.error(f"--triples must lie between 1 and {len(rows):,}, all of {given.graph}")
    found = cut(rows, given.triples, given.seed)
    ends = {split: [int(len(found) * share) for share in SHARES[split]] for split in SHARES}
    parts = {split: found[first:last] for split, (first, last) in ends.items()}
    write(KnowledgeGraph.from_names(**parts), given.out, "tsv")


if __name__ == "__main__":
    main()
