"""A map of the entities: their vectors in two dimensions, coloured by degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dglkgmix.report.figures.canvas import INK, PAPER, SERIES, drawing, legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dglkgmix.runs.run import Run

MOST_POINTS, MOST_LABELS = 1000, 14
# From few to many training triples: colour and size both grow warmer and larger.
CLASSES = ((SERIES[5], 3.0), (SERIES[0], 3.8), (SERIES[4], 4.6), (SERIES[1], 5.6))
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class EntityMap:
    """N drawn entities of ``total``.

    Attributes:
        points: (N, 2).
        degrees: (N,) training triples of each.
        names: N names.
        total: entities of the graph.
        axes: what the two directions are called.
    """

    points: Floats
    degrees: np.ndarray[Any, np.dtype[np.int64]]
    names: tuple[str, ...]
    total: int
    axes: tuple[str, ...]


def entity_map(run: Run, projection: str) -> EntityMap:
    """Vectors that the decoder reads, by ``"pca"`` or ``"tsne"`` (van der Maaten & Hinton, 2008).

    Of more than ``MOST_POINTS`` entities so many are drawn, evenly spaced in the order of their
    degrees. PCA is that of the drawn vectors; t-SNE starts from it and sees its first 50
    components.
    """
    kg = run.kg
    degrees = kg.degrees.of_entities.numpy()
    places = np.linspace(0, len(degrees) - 1, min(len(degrees), MOST_POINTS)).round().astype(int)
    drawn = np.argsort(degrees, kind="stable")[places]
    vectors = run.scorer.vectors.entities[torch.from_numpy(drawn)].detach().double().cpu().numpy()
    # scikit-learn's PCA warns and gives NaN where all vectors are the same.
    left, lengths, _ = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    left *= np.sign(left[np.abs(left).argmax(0), np.arange(len(lengths))])
    points = np.pad(left * lengths, ((0, 0), (0, max(0, 2 - len(lengths)))))
    shares = [*(100 * lengths**2 / max(float(lengths @ lengths), 1e-300)), 0.0]
    axes = tuple(f"component {i + 1}: {s:.1f} % of the variance" for i, s in enumerate(shares[:2]))
    if projection == "tsne" and len(drawn) > 1:
        from sklearn.manifold import TSNE

        perplexity = min(30.0, max(1.0, (len(drawn) - 1) / 3))
        start = 1e-4 * points[:, :2] / max(float(points[:, 0].std()), 1e-300)
        found = TSNE(perplexity=perplexity, init=start.astype(np.float32), random_state=0)
        points = found.fit_transform(points[:, :50])
        axes = ("t-SNE, first direction", "t-SNE, second direction")
    names = tuple(kg.entities[i] for i in drawn.tolist())
    return EntityMap(points[:, :2], degrees[drawn], names, kg.num_entities, axes)


def draw_entity_map(shown: EntityMap) -> tuple[Figure, str]:
    """A point an entity, in four classes of degree; names of those with the most triples."""
    with drawing(9.2, 6.0) as (figure, [axes]):
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(True)
        axes.set(xticks=[], yticks=[], xlabel=shown.axes[0], ylabel=shown.axes[1])
        handles, classes = [], degree_classes(shown)
        for own, (colour, size) in zip(classes.values(), CLASSES[-len(classes) :], strict=True):
            style: dict[str, Any] = {"markersize": size, "alpha": 0.75, "markeredgewidth": 0}
            handles += axes.plot(*shown.points[own].T, "o", color=colour, **style)
        axes.margins(0.04)
        legend(axes, handles, list(classes))
        figure.draw_without_rendering()
        _label(axes, shown)
    counts = [f"{name}: {own.sum():,}" for name, own in classes.items()]
    return figure, (
        f"{len(shown.names):,} of {shown.total:,} entities as points along {shown.axes[0]} and "
        f"{shown.axes[1]}, coloured by degree. {', '.join(counts)}."
    )


def degree_classes(shown: EntityMap) -> dict[str, np.ndarray[Any, np.dtype[np.bool_]]]:
    """(N,) bool of up to four classes that hold about as many entities each, by their name."""
    edges = np.unique(np.quantile(shown.degrees, (0.25, 0.5, 0.75), method="lower"))
    places = np.searchsorted(edges, shown.degrees)
    found = {}
    for place in np.unique(places):
        low, high = shown.degrees[places == place].min(), shown.degrees[places == place].max()
        name = f"degree {low:,}" if low == high else f"degree {low:,}–{high:,}"
        found[name] = places == place
    return found


def _label(axes: Axes, shown: EntityMap) -> None:
    """Names of the entities of highest degree, where they cover no other name."""
    placed: list[Any] = []
    for place in np.argsort(-shown.degrees, kind="stable")[: 4 * MOST_LABELS].tolist():
        text = axes.annotate(
            shorten(shown.names[place], 24),
            tuple(shown.points[place]),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
            bbox={"facecolor": PAPER, "alpha": 0.75, "linewidth": 0, "pad": 0.8},
        )
        box = text.get_window_extent()
        inside = axes.bbox.x1 >= box.x1
        if len(placed) < MOST_LABELS and inside and not any(map(box.overlaps, placed)):
            placed.append(box.expanded(1.02, 1.1))
        else:
            text.remove()
