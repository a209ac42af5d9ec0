"""What a graph that has grown costs: `train --from` against a training from nothing.

    python -m bench.moving SOURCE OUT [--share 0.05] [--seed 0] [train's options]

Writes the graph without a share of its entities to OUT/old and trains OUT/before on it; then trains
the whole graph from nothing (OUT/nothing) and from OUT/before (OUT/from), and prints the filtered
test MRR of queries without a new entity and of those with one. Further options, such as
`--recipe codex-s-complex`, are those of the first two trainings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench.cut import named
from dglkgmix.cli.main import main as dglkgmix
from dglkgmix.evaluation.metrics import by_age
from dglkgmix.kg.graph import SPLITS, KnowledgeGraph
from dglkgmix.kg.sources import load
from dglkgmix.kg.writers import write
from dglkgmix.runs.run import Run


def main() -> None:
    """Train three times and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    args, given = parser.parse_known_args()
    kg = load(args.source)
    order = np.random.default_rng(args.seed).permutation(kg.num_entities)
    new = {kg.entities[i] for i in order[: round(args.share * kg.num_entities)]}
    old = {
        split: [row for row in named(kg, split) if not {row[0], row[2]} & new] for split in SPLITS
    }
    write(KnowledgeGraph.from_names(**old), args.out / "old", "tsv")
    for name, source, options in (
        ("before", str(args.out / "old"), given),
        ("nothing", args.source, given),
        ("from", args.source, ["--from", str(args.out / "before")]),
    ):
        run = ["train", source, "--out", str(args.out / name), "--precision", "fp32", "--quiet"]
        if dglkgmix([*run, *options]):
            raise SystemExit(1)
    print("| | MRR, old entities | MRR, new entities | best epoch | seconds |")
    print("|---|---|---|---|---|")
    for name in ("before", "nothing", "from"):
        run = Run.open(args.out / name)
        mrr = [part["mrr"] for part in by_age(run.rank_table(), new).values()]
        shown = " | ".join("" if x is None else f"{x:.4f}" for x in mrr)
        best = f"{run.metrics['best_epoch']} of {run.metrics['epochs']}"
        print(f"| {name} | {shown} | {best} | {run.metrics['seconds']:.0f} |")


if __name__ == "__main__":
    main()
