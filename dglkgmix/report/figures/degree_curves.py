"""MRR along a degree: what the panels a and b of the paper's Figure 2 share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import MARKERS, PANEL, PAPER, SERIES, draw, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Points that rest on fewer queries are drawn hollow.
FEW = 30
# Degree edges of the curves, about even on a logarithmic axis.
EDGES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
# Series name → interval name → metrics with ``mrr`` and ``queries``, same intervals in each.
Curves = Mapping[str, Mapping[str, Mapping[str, Any]]]


def draw_curves(curves: Curves, xlabel: str) -> Figure:
    """One line a series over the intervals in which any series has queries."""
    width, height = PANEL
    return draw(lambda axes: _paint(axes[0], curves, xlabel), width=width, height=height)


def describe_curves(curves: Curves, xlabel: str) -> str:
    """The figure in words."""
    parts = []
    for name, groups in curves.items():
        points = [f"{readable(g)} {m['mrr']:.3f}" for g, m in groups.items() if m["queries"]]
        parts.append(f"{name}: {', '.join(points) or 'no queries'}.")
    return f"MRR by {xlabel}. " + " ".join(parts)


def _paint(axes: Axes, curves: Curves, xlabel: str) -> None:
    names = _used(curves)
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
            style: dict[str, Any] = {"color": colour, "marker": marker, "markerfacecolor": PAPER}
            axes.plot(*zip(*hollow, strict=True), linestyle="none", zorder=4, **style)
    labels = [readable(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlabel(xlabel)
    axes.set_ylabel("MRR")
    axes.set_ylim(bottom=0)
    legend(axes, handles, list(curves))


def _used(curves: Curves) -> list[str]:
    """The intervals from the first to the last in which any series has queries."""
    names = list(next(iter(curves.values()), {}))
    used = [i for i, n in enumerate(names) if any(c[n]["queries"] for c in curves.values())]
    return names[min(used) : max(used) + 1] if used else []
