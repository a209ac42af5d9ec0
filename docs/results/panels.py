"""MRR along degrees of one run, kept as JSON: ``python docs/results/panels.py RUN NAME``.

``dglkgmix report RUN`` draws the same curves for people; what is kept here is what
``make results`` draws the paper's Figure 2 from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dglkgmix import DegreeBins, Run
from dglkgmix.experiments.execute import summarise
from dglkgmix.report.figures.degree_curves import (
    entity_degree_curves,
    joint_grid,
    tail_relation_curves,
)

HERE = Path(__file__).resolve().parent


def measure(run: Run) -> dict[str, Any]:
    """How the run was made (as a cell of an experiment tells it), and its three panels."""
    table = run.rank_table("test")
    made = summarise(run, DegreeBins().edges, distances=False)
    panels = {
        "entity": _curves(entity_degree_curves(table)),
        "relation": _curves(tail_relation_curves(table)),
        "joint": joint_grid(table),
    }
    return {**made, "panels": panels}


def _curves(curves: Any) -> dict[str, Any]:
    return {
        name: {degrees: {"mrr": m["mrr"], "queries": m["queries"]} for degrees, m in points.items()}
        for name, points in curves.items()
    }


def main(run: str, name: str) -> None:
    """Write NAME.json beside this file."""
    text = json.dumps(measure(Run.open(Path(run))), separators=(",", ":"), ensure_ascii=False)
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
