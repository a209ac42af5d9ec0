"""Whether probabilities are right: the reliability diagram, and the error by degree bin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dglkgmix.evaluation.calibration import Point
from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import MARKERS, MUTED, SERIES, drawing, legend, line_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_reliability(series: Mapping[str, Sequence[Point]]) -> tuple[Figure, str]:
    """One line a series (before and after scaling, or runs) against the diagonal."""
    handles, parts = [], []
    with drawing(4.1, 4.3) as (figure, [axes]):
        axes.plot([0, 1], [0, 1], color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
        for place, (name, points) in enumerate(series.items()):
            x, y = [p.probability for p in points], [p.share for p in points]
            handles += axes.plot(x, y, **line_style(place))
            shown = ", ".join(f"{p.share:.2f} true at {p.probability:.2f}" for p in points)
            parts.append(f"{name}: {shown}.")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        axes.set(xlabel="predicted probability", ylabel="share of true triples")
        legend(axes, handles, list(series))
    return figure, "Share of true triples by predicted probability. " + " ".join(parts)


def draw_errors(
    errors: Mapping[str, tuple[float | None, float | None]],
) -> tuple[Figure, str]:
    """A row a group with its errors before and after scaling, joined by a line.

    They are None where there is nothing to measure.
    """
    groups, handles, parts = list(errors)[::-1], [], []
    with drawing(4.6, 0.9 + 0.42 * len(errors)) as (figure, [axes]):
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        for y, group in enumerate(groups):
            before, after = errors[group]
            if before is not None and after is not None:
                axes.plot([before, after], [y, y], color=MUTED, linewidth=1.2, zorder=2)
                parts.append(f"{readable(group)} {before:.3f} before, {after:.3f} after")
        for side in (0, 1):
            found = [(errors[group][side], y) for y, group in enumerate(groups)]
            points = [(error, y) for error, y in found if error is not None]
            style: dict[str, Any] = {"color": SERIES[side], "clip_on": False, "zorder": 3}
            x, places = [error for error, _ in points], [y for _, y in points]
            handles += axes.plot(x, places, MARKERS[side], markersize=7, **style)
        axes.set_yticks(range(len(groups)), [readable(group) for group in groups])
        axes.set(ylim=(-0.6, len(groups) - 0.4), xlim=(0, None))
        axes.set_xlabel("expected calibration error")
        legend(axes, handles, ["before scaling", "after scaling"])
    told = "; ".join(parts[::-1])
    return figure, f"Expected calibration error before and after scaling: {told}."
