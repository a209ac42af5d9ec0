"""MRR by degree bin, several runs side by side, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import INK, drawing, grouped_bars, legend

if TYPE_CHECKING:
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
    with drawing() as (figure, [axes]):
        handles = grouped_bars(axes, ([e.value for e in bins.values()] for bins in runs.values()))
        for bars, bins in zip(handles, runs.values(), strict=True):
            for bar, e in zip(bars, bins.values(), strict=True):
                if e.low is not None and e.high is not None:
                    x = bar.get_x() + bar.get_width() / 2
                    style: dict[str, Any] = {"linewidth": 1.2, "solid_capstyle": "butt"}
                    axes.plot([x, x], [e.low, e.high], color=INK, **style)
        first = next(iter(runs.values()), {})
        labels = [f"{readable(name)}\n{e.queries:,} queries" for name, e in first.items()]
        axes.set_xticks(range(len(first)), labels)
        axes.set_ylabel("MRR")
        axes.set_ylim(bottom=0)
        if len(runs) > 1:
            legend(axes, handles, list(runs))
    return figure


def describe_mrr_by_bin(runs: Runs) -> str:
    """The figure in words."""
    parts = []
    for run, bins in runs.items():
        shown = []
        for name, e in bins.items():
            value = "no queries" if e.value is None else f"{e.value:.3f}"
            interval = "" if e.low is None else f" ({e.low:.3f} to {e.high:.3f})"
            shown.append(f"{readable(name)} {value}{interval}")
        parts.append(f"{run}: {', '.join(shown)}.")
    return "MRR by tail-relation degree of the answer. " + " ".join(parts)
