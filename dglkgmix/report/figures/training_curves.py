"""A column of the training history over epochs, a line a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dglkgmix.report.figures.canvas import MARKERS, MUTED, PANEL, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Run name → rows of its history; epochs count from 1 within each stage.
Histories = Mapping[str, Sequence[Mapping[str, Any]]]
LABELS = {"valid_mrr": "Validation MRR", "loss": "Training loss"}


def draw_training_curves(histories: Histories, column: str) -> Figure:
    """``column`` is ``loss`` or ``valid_mrr``; stages follow each other on the epoch axis."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    with drawing(*PANEL) as (figure, [axes]):
        handles = []
        for place, rows in enumerate(histories.values()):
            points = curve(rows, column)
            x, y = zip(*points, strict=True) if points else ((), ())
            colour = SERIES[place % len(SERIES)]
            marker = MARKERS[place % len(MARKERS)] if len(points) <= 40 else ""
            handles.append(axes.plot(x, y, color=colour, marker=marker, markersize=4)[0])
            for start in stage_starts(rows):
                line = colour if len(histories) > 1 else MUTED
                axes.axvline(start - 0.5, color=line, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.set_xlabel("epoch (dashed: the next stage starts)")
        axes.set_ylabel(LABELS[column])
        losses = [value for rows in histories.values() for _, value in curve(rows, "loss")]
        # Where the first epochs' losses would flatten the rest of a linear axis; a decade, or there
        # would be too few round numbers to label.
        if column == "loss" and losses and 0 < 10 * min(losses) <= max(losses):
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.set_ylabel(f"{axes.get_ylabel()} (logarithmic)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(histories) > 1:
            legend(axes, handles, list(histories))
    return figure


def describe_training_curves(histories: Histories, column: str) -> str:
    """The figure in words."""
    parts = []
    for run, rows in histories.items():
        points = curve(rows, column)
        if points:
            (first, start), (last, end) = points[0], points[-1]
            best = max(value for _, value in points) if column == "valid_mrr" else None
            peak = "" if best is None else f", best {best:.4g}"
            parts.append(f"{run}: {start:.4g} at epoch {first} to {end:.4g} at {last}{peak}.")
    return f"{LABELS[column]} over epochs. " + " ".join(parts)


def curve(rows: Sequence[Mapping[str, Any]], column: str) -> list[tuple[int, float]]:
    """(epoch over all stages, value) of the rows that have a value."""
    points = []
    for epoch, row in enumerate(rows, start=1):
        value = row.get(column)
        if value is not None and not math.isnan(value):
            points.append((epoch, float(value)))
    return points


def stage_starts(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Epochs, over all stages, with which the second and further stages start."""
    stages = [row["stage"] for row in rows]
    return [i + 1 for i in range(1, len(stages)) if stages[i] != stages[i - 1]]
