"""A column of the training history over epochs, a line a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dglkgmix.report.figures.canvas import MUTED, PANEL, drawing, legend, line_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of a history; epochs count from 1 within each stage.
Rows = Sequence[Mapping[str, Any]]
LABELS = {"valid_mrr": "Validation MRR", "loss": "Training loss"}


def draw_training_curves(histories: Mapping[str, Rows], column: str) -> tuple[Figure, str]:
    """``column`` is ``loss`` or ``valid_mrr``; stages follow each other on the epoch axis."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    handles, parts = [], []
    with drawing(*PANEL) as (figure, [axes]):
        for place, (run, rows) in enumerate(histories.items()):
            points, style = curve(rows, column), line_style(place)
            x, y = zip(*points, strict=True) if points else ((), ())
            marker = style["marker"] if len(points) <= 40 else ""
            handles += axes.plot(x, y, **style | {"marker": marker, "markersize": 4})
            for start in stage_starts(rows):
                line = style["color"] if len(histories) > 1 else MUTED
                axes.axvline(start - 0.5, color=line, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
            if points:
                ends = f"{y[0]:.4g} at epoch {x[0]} to {y[-1]:.4g} at {x[-1]}"
                best = f", best {max(y):.4g}" if column == "valid_mrr" else ""
                parts.append(f"{run}: {ends}{best}.")
        axes.set(xlabel="epoch (dashed: the next stage starts)", ylabel=LABELS[column])
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
    return figure, f"{LABELS[column]} over epochs. " + " ".join(parts)


def curve(rows: Rows, column: str) -> list[tuple[int, float]]:
    """(epoch over all stages, value) of the rows that have a value."""
    values = ((epoch, row.get(column)) for epoch, row in enumerate(rows, start=1))
    return [(epoch, float(v)) for epoch, v in values if v is not None and not math.isnan(v)]


def stage_starts(rows: Rows) -> list[int]:
    """Epochs, over all stages, with which the second and further stages start."""
    stages = [row["stage"] for row in rows]
    return [i + 1 for i in range(1, len(stages)) if stages[i] != stages[i - 1]]
