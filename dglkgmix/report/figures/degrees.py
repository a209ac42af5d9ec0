"""How tail-relation degrees are distributed, and how much of the test set is in each bin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dglkgmix.atomic import write_atomic
from dglkgmix.kg.degrees import DegreeBins, query_degrees, readable
from dglkgmix.paths import check_ending, path_of
from dglkgmix.report.figures.canvas import INK, PAPER, SERIES, drawing, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dglkgmix.kg.graph import KnowledgeGraph

PLOT_ENDINGS = (".png", ".svg", ".pdf")
# A bin narrower than this ratio of its bounds is too narrow for its name.
_ROOM_FOR_A_NAME = 2.5


@dataclass(frozen=True)
class DegreeDistribution:
    """What the figure shows.

    Attributes:
        edges: bounds of degree classes, each twice the one before: 1, 2, 4, … .
        pairs: number of (tail, relation) pairs in each class, one less than ``edges``.
        bins: the degree bins.
        test: number of test queries in each bin, by bin name.
    """

    edges: tuple[int, ...]
    pairs: tuple[int, ...]
    bins: DegreeBins
    test: dict[str, int]


def degree_distribution(kg: KnowledgeGraph, path: str | Path, bins: DegreeBins) -> None:
    """Writes the figure of a graph to a .png, .svg or .pdf file.

    Raises:
        ConfigError: another ending.
        StorageError: the file cannot be written.
    """
    path = path_of(path)
    check_ending(path, PLOT_ENDINGS)
    (figure, _), ending = draw_degrees(distribution_of(kg, bins)), path.suffix[1:].lower()
    write_atomic(path, lambda temporary: save(figure, temporary, ending))


def distribution_of(kg: KnowledgeGraph, bins: DegreeBins) -> DegreeDistribution:
    """Counts of a graph's pairs and test queries."""
    degrees = kg.degrees.pair_degrees.numpy()
    edges = 2 ** np.arange(int(degrees.max()).bit_length() + 1)
    pairs, _ = np.histogram(degrees, bins=edges)
    return DegreeDistribution(
        tuple(edges.tolist()), tuple(pairs.tolist()), bins, bins.count(query_degrees(kg, "test"))
    )


def draw_degrees(distribution: DegreeDistribution) -> tuple[Figure, str]:
    """Two panels: pairs by degree, both axes logarithmic, and test queries by bin."""
    height = max(3.6, 0.34 * len(distribution.bins))
    with drawing(9.2, height, panels=2) as (figure, [left, right]):
        _paint_pairs(left, distribution)
        _paint_test(right, distribution)
    total = sum(distribution.test.values())
    shares = [
        f"{readable(name)} {count:,}" + (f" ({100 * count / total:.1f} %)" if total else "")
        for name, count in distribution.test.items()
    ]
    return figure, (
        f"Tail-relation degrees of {sum(distribution.pairs):,} pairs of tail and relation, from 1 "
        f"to below {distribution.edges[-1]:,}; {distribution.pairs[0]:,} pairs have degree 1. "
        f"Test queries by degree of the answer: {', '.join(shares)}."
    )


def _paint_pairs(axes: Axes, distribution: DegreeDistribution) -> None:
    from matplotlib.ticker import NullLocator

    edges = np.array(distribution.edges, dtype=float)
    style: dict[str, Any] = {"color": SERIES[0], "edgecolor": PAPER, "linewidth": 1}
    axes.bar(edges[:-1], distribution.pairs, np.diff(edges), align="edge", **style)
    axes.set(xscale="log", yscale="log")
    axes.set(xlim=(0.85, edges[-1] * 1.15), ylim=(0.6, max(distribution.pairs) * 6))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    bins, end = distribution.bins, edges[-1]
    for edge in bins.edges:
        if 1 < edge < end:
            axes.axvline(edge, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    bounds = [1.0, *(float(edge) for edge in bins.edges), end]
    for name, low, high in zip(bins.names, bounds, bounds[1:], strict=False):
        right = min(high, end)
        # Where the name is the interval, the axis says it.
        if bins.names != bins.intervals and right >= _ROOM_FOR_A_NAME * low:
            at, place = (math.sqrt(low * right), 0.98), axes.get_xaxis_transform()
            axes.text(*at, name, transform=place, ha="center", va="top", fontsize=9)
    axes.set(xlabel="tail-relation degree in training", ylabel="pairs of tail and relation")
    axes.set_title("How degrees are distributed")


def _paint_test(axes: Axes, distribution: DegreeDistribution) -> None:
    counts = list(distribution.test.values())
    total = sum(counts)
    shares = [100 * count / total if total else 0.0 for count in counts]
    axes.barh(range(len(counts)), shares, 0.72, color=SERIES[0])
    for place, (share, count) in enumerate(zip(shares, counts, strict=True)):
        text = f"{share:.1f} %  ({count:,})" if total else "-"
        style: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 9}
        axes.annotate(text, (share, place), (5, 0), **style)
    names = zip(distribution.bins.names, distribution.bins.intervals, strict=True)
    labels = [
        readable(interval) if name == interval else f"{name}  {readable(interval)}"
        for name, interval in names
    ]
    axes.set_yticks(range(len(counts)), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, max(*shares, 1) * 1.45)
    # Every bar bears its numbers: an axis would say them twice.
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.spines["left"].set_visible(True)
    axes.set(xticks=[], ylabel="tail-relation degree of the answer")
    axes.set_title(f"Where the {total:,} test queries lie" if total else "No test queries")
