"""Whether probabilities are right: the reliability diagram, and the error by degree bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import MARKERS, MUTED, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Group name → (before, after), None where there is nothing to measure.
Errors = Mapping[str, tuple[float | None, float | None]]


@dataclass(frozen=True)
class Point:
    """A bin of probabilities: its mean, the share of true triples in it, and its size."""

    probability: float
    share: float
    count: int


Series = Mapping[str, Sequence[Point]]


def draw_reliability(series: Series) -> Figure:
    """One line a series (before and after scaling, or runs) against the diagonal."""
    with drawing(4.1, 4.3) as (figure, [axes]):
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
        handles = []
        for place, points in enumerate(series.values()):
            x, y = [p.probability for p in points], [p.share for p in points]
            colour, marker = SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)]
            handles.append(axes.plot(x, y, color=colour, marker=marker)[0])
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        axes.set_xlabel("predicted probability")
        axes.set_ylabel("share of true triples")
        legend(axes, handles, list(series))
    return figure


def describe_reliability(series: Series) -> str:
    """The figure in words."""
    parts = [
        f"{name}: {', '.join(f'{p.share:.2f} true at {p.probability:.2f}' for p in points)}."
        for name, points in series.items()
    ]
    return "Share of true triples by predicted probability. " + " ".join(parts)


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
            x, places = [e for e, _ in points], [y for _, y in points]
            style: dict[str, Any] = {"color": SERIES[side], "clip_on": False, "zorder": 3}
            handles += axes.plot(x, places, MARKERS[side], markersize=7, **style)
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
