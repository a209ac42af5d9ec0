"""Calibration error before and after scaling, overall and by degree bin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import MARKERS, MUTED, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Group name → (before, after), None where there is nothing to measure.
Errors = Mapping[str, tuple[float | None, float | None]]


def draw_calibration(errors: Errors) -> Figure:
    """A row a group with its two errors, joined by a line."""
    groups = list(errors)[::-1]
    with drawing(4.6, 0.9 + 0.42 * len(errors)) as (figure, [axes]):
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        for y, group in enumerate(groups):
            before, after = errors[group]
            if before is not None and after is not None:
                axes.plot([before, after], [y, y], color=MUTED, linewidth=1.2, zorder=2)
        handles = []
        for side in (0, 1):
            points = [
                (e, y) for y, group in enumerate(groups) if (e := errors[group][side]) is not None
            ]
            style: dict[str, Any] = {
                "color": SERIES[side],
                "marker": MARKERS[side],
                "markersize": 7,
            }
            style |= {"linestyle": "none", "clip_on": False, "zorder": 3}
            handles.append(axes.plot([x for x, _ in points], [y for _, y in points], **style)[0])
        axes.set_yticks(range(len(groups)), [readable(group) for group in groups])
        axes.set_ylim(-0.6, len(groups) - 0.4)
        axes.set_xlim(left=0)
        axes.set_xlabel("expected calibration error")
        legend(axes, handles, ["before scaling", "after scaling"])
    return figure


def describe_calibration(errors: Errors) -> str:
    """The figure in words."""
    parts = [
        f"{readable(group)} {before:.3f} before, {after:.3f} after"
        for group, (before, after) in errors.items()
        if before is not None and after is not None
    ]
    return f"Expected calibration error before and after scaling: {'; '.join(parts)}."
