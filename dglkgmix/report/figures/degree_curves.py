"""MRR along a degree: panels a and b of the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.evaluation.metrics import by_degree
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.kg.degrees import DegreeBins, readable
from dglkgmix.report.figures.canvas import MARKERS, PANEL, PAPER, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points that rest on fewer queries are drawn hollow.
FEW = 30
# Degree edges of the curves, about even on a logarithmic axis.
EDGES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
# The axis of :func:`entity_degree_curves` and of :func:`tail_relation_curves`.
ENTITY_DEGREE, ANSWER_DEGREE = "degree of the entity", "degree of the answer"
# Series name → interval name → metrics with ``mrr`` and ``queries``, same intervals in each.
Curves = Mapping[str, Mapping[str, Mapping[str, Any]]]


def entity_degree_curves(table: RankTable) -> Curves:
    """Figure 2 a: MRR by each of the four degrees; "tail" is the answer, "head" the given entity.

    Curves that are the same stand once. In- and out-degrees are, wherever every triple counts in
    both directions, as the method has it.
    """
    curves = {}
    for end in ("tail", "head"):
        both = [by_degree(table, f"{end}_{way}", DegreeBins(EDGES)) for way in ("in", "out")]
        if both[0] == both[1]:
            curves[f"{end} in- and out-degree"] = both[0]
        else:
            curves |= {f"{end} in-degree": both[0], f"{end} out-degree": both[1]}
    return curves


def tail_relation_curves(table: RankTable) -> Curves:
    """Figure 2 b: MRR by each of the two degrees that add up to the answer's in-degree."""
    columns = {
        "tail-relation degree": "tail_relation",
        "other-relation in-degree": "other_relation",
    }
    return {name: by_degree(table, column, DegreeBins(EDGES)) for name, column in columns.items()}


def draw_curves(curves: Curves, xlabel: str) -> Figure:
    """One line a series, from the first to the last interval in which any series has queries."""
    names = list(next(iter(curves.values()), {}))
    used = [i for i, n in enumerate(names) if any(c[n]["queries"] for c in curves.values())]
    names = names[used[0] : used[-1] + 1] if used else []
    with drawing(*PANEL) as (figure, [axes]):
        handles = []
        for place, groups in enumerate(curves.values()):
            at = [i for i, name in enumerate(names) if groups[name]["queries"]]
            values = [groups[names[i]]["mrr"] for i in at]
            few = [groups[names[i]]["queries"] < FEW for i in at]
            colour = SERIES[place % len(SERIES)]
            marker = MARKERS[place % len(MARKERS)]
            handles.append(axes.plot(at, values, color=colour, marker=marker, zorder=3)[0])
            hollow = [(x, y) for x, y, is_few in zip(at, values, few, strict=True) if is_few]
            if hollow:
                style: dict[str, Any] = {"color": colour, "markerfacecolor": PAPER, "zorder": 4}
                axes.plot(*zip(*hollow, strict=True), marker, **style)
        labels = [readable(name) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=40, ha="right", rotation_mode="anchor")
        axes.set_xlabel(xlabel)
        axes.set_ylabel("MRR")
        axes.set_ylim(bottom=0)
        legend(axes, handles, list(curves))
    return figure


def describe_curves(curves: Curves, xlabel: str) -> str:
    """The figure in words."""
    parts = []
    for name, groups in curves.items():
        points = [f"{readable(g)} {m['mrr']:.3f}" for g, m in groups.items() if m["queries"]]
        parts.append(f"{name}: {', '.join(points) or 'no queries'}.")
    return f"MRR by {xlabel}. " + " ".join(parts)
