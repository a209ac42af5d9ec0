"""Mean embedding distances D_head and D_rel of several runs (paper, its table of distances)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dglkgmix.report.figures.canvas import HATCHES, INK, PANEL, PAPER, SERIES, draw, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Run name → (D_head, D_rel), None where no triple below the threshold has anything to compare with.
Distances = Mapping[str, tuple[float | None, float | None]]


def draw_distances(runs: Distances) -> Figure:
    """Two groups of bars, heads and relations."""
    width, height = PANEL
    return draw(lambda axes: _paint(axes[0], runs), width=width, height=height)


def describe_distances(runs: Distances) -> str:
    """The figure in words."""
    parts = [f"{run}: heads {_shown(h)}, relations {_shown(r)}." for run, (h, r) in runs.items()]
    return "Mean distance between embeddings that share a tail. " + " ".join(parts)


def _paint(axes: Axes, runs: Distances) -> None:
    width = 0.8 / max(1, len(runs))
    handles = []
    for place, values in enumerate(runs.values()):
        bars = axes.bar(
            [i - 0.4 + (place + 0.5) * width for i in (0, 1)],
            [value or 0.0 for value in values],
            width * 0.92,
            color=SERIES[place % len(SERIES)],
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor=PAPER,
            linewidth=0,
        )
        if len(runs) <= 4:
            labels = [_shown(value) for value in values]
            axes.bar_label(bars, labels, padding=2, color=INK, fontsize=9)
        handles.append(bars)
    axes.set_xticks([0, 1], ["heads", "relations"])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("mean distance")
    axes.set_ylim(bottom=0)
    if len(runs) > 1:
        legend(axes, handles, list(runs))


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
