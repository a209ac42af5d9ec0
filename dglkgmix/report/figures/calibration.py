"""Calibration error before and after scaling, overall and by degree bin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import MARKERS, MUTED, SERIES, draw, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Group name → (before, after), None where there is nothing to measure.
Errors = Mapping[str, tuple[float | None, float | None]]


def draw_calibration(errors: Errors) -> Figure:
    """A row a group with its two errors, joined by a line."""
    return draw(lambda axes: _paint(axes[0], errors), width=4.6, height=0.9 + 0.42 * len(errors))


def describe_calibration(errors: Errors) -> str:
    """The figure in words."""
    parts = [
        f"{readable(group)} {before:.3f} before, {after:.3f} after"
        for group, (before, after) in errors.items()
        if before is not None and after is not None
    ]
    return f"Expected calibration error before and after scaling: {'; '.join(parts)}."


def _paint(axes: Axes, errors: Errors) -> None:
    groups = list(errors)[::-1]
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    for y, group in enumerate(groups):
        before, after = errors[group]
        if before is not None and after is not None:
            axes.plot([before, after], [y, y], color=MUTED, linewidth=1.2, zorder=2)
    handles = [_dots(axes, [errors[g][side] for g in groups], side) for side in (0, 1)]
    axes.set_yticks(range(len(groups)), [readable(group) for group in groups])
    axes.set_ylim(-0.6, len(groups) - 0.4)
    axes.set_xlim(left=0)
    axes.set_xlabel("expected calibration error")
    legend(axes, handles, ["before scaling", "after scaling"])


def _dots(axes: Axes, values: list[float | None], side: int) -> object:
    points = [(value, y) for y, value in enumerate(values) if value is not None]
    x, y = zip(*points, strict=True) if points else ((), ())
    style: dict[str, Any] = {
        "color": SERIES[side],
        "marker": MARKERS[side],
        "markersize": 7,
        "zorder": 3,
    }
    return axes.plot(x, y, linestyle="none", clip_on=False, **style)[0]
