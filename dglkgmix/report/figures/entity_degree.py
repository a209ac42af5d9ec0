"""The paper's Figure 2 a: MRR by in- and out-degree of the head and the tail entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dglkgmix.report.figures.degree_curves import EDGES, Curves, describe_curves, draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dglkgmix.evaluation.rank_table import RankTable

COLUMNS = {
    "tail in-degree": "tail_in",
    "tail out-degree": "tail_out",
    "head in-degree": "head_in",
    "head out-degree": "head_out",
}
XLABEL = "degree of the entity"


def entity_degree_curves(table: RankTable) -> Curves:
    """MRR by each of the four degrees; "tail" is the answer, "head" the given entity."""
    from dglkgmix.evaluation.metrics import by_degree
    from dglkgmix.kg.degrees import DegreeBins

    return {name: by_degree(table, column, DegreeBins(EDGES)) for name, column in COLUMNS.items()}


def draw_entity_degree(curves: Curves) -> Figure:
    """Four lines over degree intervals."""
    return draw_curves(curves, XLABEL)


def describe_entity_degree(curves: Curves) -> str:
    """The figure in words."""
    return describe_curves(curves, XLABEL)
