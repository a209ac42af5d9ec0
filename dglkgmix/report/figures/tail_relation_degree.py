"""The paper's Figure 2 b: MRR by tail-relation and by other-relation in-degree of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dglkgmix.report.figures.degree_curves import EDGES, Curves, describe_curves, draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dglkgmix.evaluation.rank_table import RankTable

COLUMNS = {
    "tail-relation degree": "tail_relation",
    "other-relation in-degree": "other_relation",
}
XLABEL = "degree of the answer"


def tail_relation_curves(table: RankTable) -> Curves:
    """MRR by each of the two degrees, which add up to the answer's in-degree."""
    from dglkgmix.evaluation.metrics import by_degree
    from dglkgmix.kg.degrees import DegreeBins

    return {name: by_degree(table, column, DegreeBins(EDGES)) for name, column in COLUMNS.items()}


def draw_tail_relation(curves: Curves) -> Figure:
    """Two lines over degree intervals."""
    return draw_curves(curves, XLABEL)


def describe_tail_relation(curves: Curves) -> str:
    """The figure in words."""
    return describe_curves(curves, XLABEL)
