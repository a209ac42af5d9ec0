"""MRR by degree bin, several runs side by side, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import HATCHES, INK, PAPER, SERIES, draw, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval; ``value`` is None where there are no queries."""

    value: float | None
    low: float | None = None
    high: float | None = None
    queries: int = 0


Runs = Mapping[str, Mapping[str, Estimate]]


def draw_mrr_by_bin(runs: Runs) -> Figure:
    """Grouped bars; ``runs`` is run name → bin name → estimate, every run with the same bins."""
    return draw(lambda axes: _paint(axes[0], runs))


def describe_mrr_by_bin(runs: Runs) -> str:
    """The figure in words."""
    return "MRR by tail-relation degree of the answer. " + " ".join(
        f"{run}: {', '.join(f'{readable(name)} {_number(e)}' for name, e in bins.items())}."
        for run, bins in runs.items()
    )


def _paint(axes: Axes, runs: Runs) -> None:
    width = 0.8 / max(1, len(runs))
    handles = []
    for place, bins in enumerate(runs.values()):
        estimates = list(bins.values())
        offsets = [i - 0.4 + (place + 0.5) * width for i in range(len(estimates))]
        handles.append(
            axes.bar(
                offsets,
                [e.value or 0.0 for e in estimates],
                width * 0.92,
                color=SERIES[place % len(SERIES)],
                hatch=HATCHES[place % len(HATCHES)],
                edgecolor=PAPER,
                linewidth=0,
            )
        )
        _whiskers(axes, offsets, estimates)
    first = next(iter(runs.values()), {})
    axes.set_xticks(range(len(first)), [_label(name, e) for name, e in first.items()])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("MRR")
    axes.set_ylim(bottom=0)
    if len(runs) > 1:
        legend(axes, handles, list(runs))


def _whiskers(axes: Axes, offsets: Sequence[float], estimates: Sequence[Estimate]) -> None:
    for x, e in zip(offsets, estimates, strict=True):
        if e.low is not None and e.high is not None:
            axes.plot([x, x], [e.low, e.high], color=INK, linewidth=1.2, solid_capstyle="butt")


def _label(name: str, estimate: Estimate) -> str:
    return f"{readable(name)}\n{estimate.queries:,} queries"


def _number(estimate: Estimate) -> str:
    if estimate.value is None:
        return "no queries"
    interval = "" if estimate.low is None else f" ({estimate.low:.3f} to {estimate.high:.3f})"
    return f"{estimate.value:.3f}{interval}"
