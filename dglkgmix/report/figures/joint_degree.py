"""The paper's Figure 2 c: MRR by other-relation in-degree, for ranges of the tail-relation degree.

Bars of one cluster share a range of the tail-relation degree. Where clusters differ and the bars
within one do not, the tail-relation degree is what matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dglkgmix.report.figures.canvas import PANEL, PAPER, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dglkgmix.evaluation.rank_table import RankTable

TAIL_EDGES = (1, 3, 10, 50)
OTHER_EDGES = (3, 10, 30, 100)


@dataclass(frozen=True)
class JointGrid:
    """MRR and queries by tail-relation range (outer) and other-relation range (inner)."""

    tail_names: tuple[str, ...]
    other_names: tuple[str, ...]
    mrr: tuple[tuple[float, ...], ...]
    queries: tuple[tuple[int, ...], ...]


def joint_grid(table: RankTable) -> JointGrid:
    """The grid of a rank table; NaN where no query falls."""
    from dglkgmix.evaluation.metrics import joint
    from dglkgmix.kg.degrees import DegreeBins, readable

    rows, columns = DegreeBins(TAIL_EDGES), DegreeBins(OTHER_EDGES)
    mrr, queries = joint(table, rows, columns)
    return JointGrid(
        tuple(map(readable, rows.names)),
        tuple(map(readable, columns.names)),
        tuple(map(tuple, mrr.tolist())),
        tuple(map(tuple, queries.tolist())),
    )


def draw_joint_degree(grid: JointGrid) -> Figure:
    """A cluster of bars for each tail-relation range, a bar for each other-relation range."""
    with drawing(*PANEL) as (figure, [axes]):
        count = len(grid.other_names)
        width = 0.84 / count
        handles = []
        for place in range(count):
            offsets = [i - 0.42 + (place + 0.5) * width for i in range(len(grid.tail_names))]
            values = [0.0 if math.isnan(row[place]) else row[place] for row in grid.mrr]
            # Paper beneath, or the grid would show through the lighter shades.
            axes.bar(offsets, values, width * 0.9, color=PAPER, linewidth=0)
            # The ranges have an order: shades of one colour, which grey print keeps.
            shade: dict[str, Any] = {"alpha": 0.25 + 0.75 * place / max(1, count - 1)}
            shade |= {"color": SERIES[0], "linewidth": 0}
            handles.append(axes.bar(offsets, values, width * 0.9, **shade))
        axes.set_xticks(range(len(grid.tail_names)), list(grid.tail_names))
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("tail-relation degree\n(bars: other-relation in-degree)")
        axes.set_ylabel("MRR")
        axes.set_ylim(bottom=0)
        legend(axes, handles, list(grid.other_names))
    return figure


def describe_joint_degree(grid: JointGrid) -> str:
    """The figure in words."""
    parts = []
    for name, values in zip(grid.tail_names, grid.mrr, strict=True):
        named = zip(grid.other_names, values, strict=True)
        bars = [f"{other} {value:.3f}" for other, value in named if not math.isnan(value)]
        parts.append(f"tail-relation degree {name}: {', '.join(bars) or 'no queries'}.")
    title = "MRR by other-relation in-degree within ranges of tail-relation degree; "
    return title + " ".join(parts)
