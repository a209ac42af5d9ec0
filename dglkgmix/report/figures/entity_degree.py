"""The paper's Figure 2 a: MRR by in- and out-degree of the head and the tail entity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dglkgmix.report.figures.degree_curves import EDGES, Curves, describe_curves, draw_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dglkgmix.evaluation.rank_table import RankTable

XLABEL = "degree of the entity"


def entity_degree_curves(table: RankTable) -> Curves:
    """MRR by each of the four degrees; "tail" is the answer, "head" the given entity.

    Curves that are the same stand once. In- and out-degrees are, wherever every triple counts in
    both directions, as the method has it.
    """
    from dglkgmix.evaluation.metrics import by_degree
    from dglkgmix.kg.degrees import DegreeBins

    curves = {}
    for end in ("tail", "head"):
        both = [by_degree(table, f"{end}_{way}", DegreeBins(EDGES)) for way in ("in", "out")]
        if both[0] == both[1]:
            curves[f"{end} in- and out-degree"] = both[0]
        else:
            curves |= {f"{end} in-degree": both[0], f"{end} out-degree": both[1]}
    return curves


def draw_entity_degree(curves: Curves) -> Figure:
    """A line a degree over degree intervals."""
    return draw_curves(curves, XLABEL)


def describe_entity_degree(curves: Curves) -> str:
    """The figure in words."""
    return describe_curves(curves, XLABEL)
