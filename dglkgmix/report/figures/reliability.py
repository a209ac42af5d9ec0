"""Reliability diagram: what share of the triples given a probability is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dglkgmix.report.figures.canvas import MARKERS, MUTED, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
            style: dict[str, Any] = {
                "color": SERIES[place % len(SERIES)],
                "marker": MARKERS[place % len(MARKERS)],
            }
            handles.append(axes.plot(x, y, **style)[0])
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
