"""A small graph out of a large one: the triples between randomly drawn entities, split at random.

    python -m bench.cut GRAPH OUT [--triples 5000] [--seed 0]

Entities are drawn one after another until GRAPH, all its splits together, has so many distinct
triples between them; of the last entity's, the first by name are taken. OUT gets train.txt,
valid.txt and test.txt with 80, 10 and 10 % of these.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from dglkgmix import load
from dglkgmix.atomic import text_lines, write_folder

SHARES = {"train": (0.0, 0.8), "valid": (0.8, 0.9), "test": (0.9, 1.0)}
Row = tuple[str, str, str]


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
    rows: set[Row] = {
        (kg.entities[h], kg.relations[r], kg.entities[t])
        for split in SHARES
        for h, r, t in kg.split(split).tolist()
    }
    if not 0 < given.triples <= len(rows):
        parser.error(f"--triples must lie between 1 and {len(rows):,}, all of {given.graph}")
    found = cut(rows, given.triples, given.seed)
    files = {}
    for split, ends in SHARES.items():
        first, last = (int(len(found) * end) for end in ends)
        part = ["\t".join(row) + "\n" for row in found[first:last]]
        files[given.out / f"{split}.txt"] = text_lines(part)
    write_folder(files, overwrite=False)


if __name__ == "__main__":
    main()
