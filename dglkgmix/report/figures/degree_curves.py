"""MRR along degrees: the three panels of the paper's Figure 2.

In the third, bars of one cluster share a range of the tail-relation degree. Where clusters differ
and the bars within one do not, the tail-relation degree is what matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.evaluation.metrics import by_degree, joint
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.kg.degrees import DegreeBins, readable
from dglkgmix.report.figures.canvas import PANEL, PAPER, SERIES, drawing, legend, line_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points that rest on fewer queries are drawn hollow.
FEW = 30
# Degree edges of the curves, about even on a logarithmic axis, and of the third panel.
EDGES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
TAIL_EDGES, OTHER_EDGES = (1, 3, 10, 50), (3, 10, 30, 100)
# The axis of :func:`entity_degree_curves` and of :func:`tail_relation_curves`.
ENTITY_DEGREE, ANSWER_DEGREE = "degree of the entity", "degree of the answer"
# Series name → interval name → metrics with ``mrr`` and ``queries``, same intervals in each.
Curves = Mapping[str, Mapping[str, Mapping[str, Any]]]


def entity_degree_curves(table: RankTable) -> Curves:
    """Figure 2 a: MRR by each of the four degrees; "tail" is the answer, "head" the given entity.

    Curves that are the same stand once. In- and out-degrees are, wherever every triple counts in
    both directions.
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
    bins = DegreeBins(EDGES)
    return {
        "tail-relation degree": by_degree(table, "tail_relation", bins),
        "other-relation in-degree": by_degree(table, "other_relation", bins),
    }


def joint_grid(table: RankTable) -> dict[str, Any]:
    """Figure 2 c: :func:`~dglkgmix.evaluation.metrics.joint`."""
    return joint(table, DegreeBins(TAIL_EDGES), DegreeBins(OTHER_EDGES))


def draw_curves(curves: Curves, xlabel: str) -> tuple[Figure, str]:
    """One line a series, from the first to the last interval in which any series has queries."""
    names = list(next(iter(curves.values()), {}))
    used = [i for i, n in enumerate(names) if any(c[n]["queries"] for c in curves.values())]
    names = names[used[0] : used[-1] + 1] if used else []
    handles, parts = [], []
    with drawing(*PANEL) as (figure, [axes]):
        for place, (series, groups) in enumerate(curves.items()):
            at = [i for i, name in enumerate(names) if groups[name]["queries"]]
            found = [groups[names[i]] for i in at]
            style = line_style(place)
            handles += axes.plot(at, [group["mrr"] for group in found], zorder=3, **style)
            hollow = [(i, g["mrr"]) for i, g in zip(at, found, strict=True) if g["queries"] < FEW]
            if hollow:
                style |= {"linestyle": "", "markerfacecolor": PAPER, "zorder": 4}
                axes.plot(*zip(*hollow, strict=True), **style)
            shown = [f"{readable(names[i])} {g['mrr']:.3f}" for i, g in zip(at, found, strict=True)]
            parts.append(f"{series}: {', '.join(shown) or 'no queries'}.")
        labels = [readable(name) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=40, ha="right", rotation_mode="anchor")
        axes.set(xlabel=xlabel, ylabel="MRR", ylim=(0, None))
        legend(axes, handles, list(curves))
    return figure, f"MRR by {xlabel}. " + " ".join(parts)


def draw_joint(grid: Mapping[str, Any]) -> tuple[Figure, str]:
    """A cluster of bars for each tail-relation range, a bar for each other-relation range."""
    outer, inner = (list(map(readable, grid[names])) for names in ("rows", "columns"))
    width, handles = 0.84 / len(inner), []
    with drawing(*PANEL) as (figure, [axes]):
        for place in range(len(inner)):
            offsets = [i - 0.42 + (place + 0.5) * width for i in range(len(outer))]
            values = [row[place] or 0.0 for row in grid["mrr"]]
            # Paper beneath, or the grid would show through the lighter shades.
            axes.bar(offsets, values, width * 0.9, color=PAPER, linewidth=0)
            # The ranges have an order: shades of one colour, which grey print keeps.
            shade: dict[str, Any] = {"alpha": 0.25 + 0.75 * place / max(1, len(inner) - 1)}
            shade |= {"color": SERIES[0], "linewidth": 0}
            handles.append(axes.bar(offsets, values, width * 0.9, **shade))
        axes.set_xticks(range(len(outer)), outer)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("tail-relation degree\n(bars: other-relation in-degree)")
        axes.set(ylabel="MRR", ylim=(0, None))
        legend(axes, handles, inner)
    parts = []
    for name, row in zip(outer, grid["mrr"], strict=True):
        bars = [f"{n} {mrr:.3f}" for n, mrr in zip(inner, row, strict=True) if mrr is not None]
        parts.append(f"tail-relation degree {name}: {', '.join(bars) or 'no queries'}.")
    title = "MRR by other-relation in-degree within ranges of tail-relation degree; "
    return figure, title + " ".join(parts)
