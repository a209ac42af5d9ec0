"""Mean embedding distances D_head and D_rel of several runs (paper, its table of distances)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dglkgmix.report.figures.canvas import INK, PANEL, drawing, grouped_bars, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Run name → (D_head, D_rel), None where no triple below the threshold has anything to compare with.
Distances = Mapping[str, tuple[float | None, float | None]]


def draw_distances(runs: Distances) -> Figure:
    """Two groups of bars, heads and relations."""
    with drawing(*PANEL) as (figure, [axes]):
        handles = grouped_bars(axes, runs.values())
        if len(runs) <= 4:
            for bars, values in zip(handles, runs.values(), strict=True):
                labels = [_shown(value) for value in values]
                axes.bar_label(bars, labels, padding=2, color=INK, fontsize=9)
        axes.set_xticks([0, 1], ["heads", "relations"])
        axes.set_ylabel("mean distance")
        axes.set_ylim(bottom=0)
        if len(runs) > 1:
            legend(axes, handles, list(runs))
    return figure


def describe_distances(runs: Distances) -> str:
    """The figure in words."""
    parts = [f"{run}: heads {_shown(h)}, relations {_shown(r)}." for run, (h, r) in runs.items()]
    return "Mean distance between embeddings that share a tail. " + " ".join(parts)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
