"""Are planted errors among the least plausible facts? ``python -m bench.errors RUN...``

Of the training facts of each RUN's graph 5 % get another head or tail: any entity ("any"), or one
that the relation has in that place ("typed"), so that the fact is false, as far as the graph knows,
and new. A model with RUN's settings is trained on them, and its facts are judged as
``dglkgmix detect-errors`` does, with five folds and with none. Printed: average precision, beside
the share of errors (chance), and how many are among the first n, n being their number.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import average_precision_score

from dglkgmix.config.toml import apply_overrides
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction.error_detection import detect_errors
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train

SHARE = 0.05
Names = tuple[str, str, str]


def plant(kg: KnowledgeGraph, typed: bool) -> tuple[KnowledgeGraph, set[Names]]:
    """The graph with errors in place of training facts, and these by name."""
    draw = np.random.default_rng(0)
    rows = kg.edges[: kg.num_edges // 2].clone()
    there, errors = set(map(tuple, rows.tolist())), set()
    for i in draw.choice(len(rows), int(SHARE * len(rows)), replace=False):
        old, end = rows[i].tolist(), int(draw.choice([0, 2]))
        pool = np.arange(kg.num_entities)
        if typed:
            pool = np.unique(kg.train[kg.train[:, 1] == old[1], end])
        for entity in draw.permutation(pool).tolist():
            new = [entity if place == end else old[place] for place in range(3)]
            if tuple(new) not in there and not kg.known_index.contains(*new):
                rows[i] = torch.tensor(new)
                there.add(tuple(new))
                errors.add((kg.entities[new[0]], kg.relations[new[1]], kg.entities[new[2]]))
                break
    return KnowledgeGraph(kg.entities, kg.relations, rows, kg.valid, kg.test), errors


def main() -> None:
    """Print the rows of the table, one a run, kind of error and number of folds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--epochs", type=int, help="in place of each run's own number")
    options = parser.parse_args()
    print("| run | errors | folds | facts judged | of them errors | average precision | first n |")
    print("|---|---|---|---|---|---|---|")
    for run in map(Run.open, options.runs):
        config = run.config
        if options.epochs:
            config = apply_overrides(config, [f"training.epochs={options.epochs}"])
        for typed in (False, True):
            kg, errors = plant(run.kg, typed)
            with tempfile.TemporaryDirectory() as folder:
                train(kg, config, Path(folder) / "run")
                for folds in (5, 0):
                    found = detect_errors(Run.open(Path(folder) / "run"), Path(folder), folds)
                    facts = [s.fact for s in found.facts if "train" in s.fact.splits]
                    label = np.array([(f.head, f.relation, f.tail) in errors for f in facts])
                    precision = average_precision_score(label, -np.arange(len(label)))
                    print(
                        f"| {run.name} | {'typed' if typed else 'any'} | {folds} | {len(label):,} "
                        f"| {label.mean():.1%} | {precision:.3f} "
                        f"| {label[: label.sum()].sum()} of {label.sum()} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
