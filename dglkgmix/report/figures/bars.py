"""Bars of several runs side by side: MRR by degree bin, and mean embedding distances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dglkgmix.kg.degrees import readable
from dglkgmix.report.figures.canvas import HATCHES, INK, PANEL, PAPER, SERIES, drawing, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Estimate(NamedTuple):
    """A mean with its interval; ``value`` is None where there are no queries."""

    value: float | None
    low: float | None = None
    high: float | None = None
    queries: int = 0


def draw_mrr_by_bin(runs: Mapping[str, Mapping[str, Estimate]]) -> tuple[Figure, str]:
    """``runs`` is run name → bin name → estimate, every run with the same bins."""
    parts = []
    with drawing() as (figure, [axes]):
        values = ([e.value for e in bins.values()] for bins in runs.values())
        for bars, (run, bins) in zip(_bars(axes, runs, values), runs.items(), strict=True):
            shown = []
            for bar, (name, e) in zip(bars, bins.items(), strict=True):
                text = "no queries" if e.value is None else f"{e.value:.3f}"
                if e.low is not None and e.high is not None:
                    x = bar.get_x() + bar.get_width() / 2
                    style: dict[str, Any] = {"linewidth": 1.2, "solid_capstyle": "butt"}
                    axes.plot([x, x], [e.low, e.high], color=INK, **style)
                    text += f" ({e.low:.3f} to {e.high:.3f})"
                shown.append(f"{readable(name)} {text}")
            parts.append(f"{run}: {', '.join(shown)}.")
        first = next(iter(runs.values()), {})
        labels = [f"{readable(name)}\n{e.queries:,} queries" for name, e in first.items()]
        axes.set_xticks(range(len(first)), labels)
        axes.set(ylabel="MRR", ylim=(0, None))
    return figure, "MRR by tail-relation degree of the answer. " + " ".join(parts)


def draw_distances(
    runs: Mapping[str, tuple[float | None, float | None]],
) -> tuple[Figure, str]:
    """D_head and D_rel of runs (paper, its table of distances).

    ``runs`` is run name → the two, None where no triple below the threshold has anything to compare
    with.
    """
    labels = [["none" if v is None else f"{v:.2f}" for v in values] for values in runs.values()]
    with drawing(*PANEL) as (figure, [axes]):
        for bars, shown in zip(_bars(axes, runs, runs.values()), labels, strict=True):
            if len(runs) <= 4:
                axes.bar_label(bars, shown, padding=2, color=INK, fontsize=9)
        axes.set_xticks([0, 1], ["heads", "relations"])
        axes.set(ylabel="mean distance", ylim=(0, None))
    named = zip(runs, labels, strict=True)
    parts = [f"{run}: heads {heads}, relations {relations}." for run, (heads, relations) in named]
    return figure, "Mean distance between embeddings that share a tail. " + " ".join(parts)


def _bars(axes: Axes, names: Iterable[str], series: Iterable[Sequence[float | None]]) -> list[Any]:
    """The bars of each series, side by side at 0, 1, …; one without a value has no height."""
    names, series = list(names), list(series)
    width = 0.8 / max(1, len(series))
    axes.tick_params(axis="x", length=0)
    made = [
        axes.bar(
            [i - 0.4 + (place + 0.5) * width for i in range(len(values))],
            [value or 0.0 for value in values],
            width * 0.92,
            color=SERIES[place % len(SERIES)],
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor=PAPER,
            linewidth=0,
        )
        for place, values in enumerate(series)
    ]
    if len(names) > 1:
        legend(axes, made, names)
    return made
