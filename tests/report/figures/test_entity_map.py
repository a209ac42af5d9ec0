from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.report.figures import entity_map as module
from dglkgmix.report.figures.canvas import page_svg
from dglkgmix.report.figures.entity_map import (
    EntityMap,
    degree_classes,
    draw_entity_map,
    entity_map,
)


def run_of(vectors, edges=None):
    """A run whose model has these vectors; entity i has degree i + 1, or the given edges."""
    count = len(vectors)
    rows = edges or [(i, j, i) for i in range(count) for j in range(i + 1)]
    names = [f"e{i}" for i in range(count)]
    kg = KnowledgeGraph.from_arrays(rows, entities=names)
    tables = SimpleNamespace(entities=torch.tensor(vectors, dtype=torch.float32))
    return SimpleNamespace(kg=kg, scorer=SimpleNamespace(vectors=tables))


def test_pca_keeps_the_distances_of_a_plane_in_space():
    corners = [[1.0, 7, 0, 3], [1, 7, 0, 7], [4, 7, 4, 3], [4, 7, 4, 7]]  # 5 by 4
    found = entity_map(run_of(corners), "pca")
    assert np.abs(found.points[:, 0]) == pytest.approx([2.5] * 4)
    assert np.abs(found.points[:, 1]) == pytest.approx([2] * 4)
    assert found.points[0] == pytest.approx(-found.points[3])
    assert found.axes == (
        "component 1: 61.0 % of the variance",  # 25 of 41
        "component 2: 39.0 % of the variance",
    )
    assert found.degrees.tolist() == [2, 4, 6, 8]
    assert found.names == ("e0", "e1", "e2", "e3")


@pytest.mark.parametrize("projection", ["pca", "tsne"])
@pytest.mark.parametrize("vectors", [[[1.0, 2]], [[1.0], [3], [4]], [[1.0, 2]] * 4])
def test_few_or_equal_vectors_have_a_map_too(vectors, projection):
    found = entity_map(run_of(vectors), projection)
    assert found.points.shape == (len(vectors), 2)
    assert np.isfinite(found.points).all()
    draw_entity_map(found)


def test_of_many_entities_some_are_drawn_evenly_by_degree(monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 3)
    vectors = np.random.default_rng(0).normal(size=(5, 4)).tolist()
    found = entity_map(run_of(vectors), "pca")
    assert (found.names, found.total) == (("e0", "e2", "e4"), 5)
    assert found.degrees.tolist() == [2, 6, 10]


def test_t_sne_keeps_neighbours_together():
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(40, 6)) + np.repeat([[0], [30]], 20, axis=0)
    found = entity_map(run_of(vectors.tolist()), "tsne")
    gaps = np.linalg.norm(found.points[:, None] - found.points[None], axis=-1)
    np.fill_diagonal(gaps, np.inf)
    assert ((gaps.argmin(1) < 20) == (np.arange(40) < 20)).all()
    assert "t-SNE" in found.axes[0]


def shown(degrees, points=None):
    count = len(degrees)
    points = np.arange(2.0 * count).reshape(-1, 2) if points is None else np.array(points)
    names = tuple(f"_name {i}" for i in range(count))
    return EntityMap(points, np.array(degrees), names, 99, ("x", "y"))


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 1000], ["0–1", "2–3", "4–5", "6–1,000"]),
        ([1, 1, 1, 1, 1, 9], ["1", "9"]),
        ([3, 3], ["3"]),
    ],
)
def test_classes_of_degree_hold_about_as_many_entities(degrees, expected):
    found = degree_classes(shown(degrees))
    assert list(found) == [f"degree {name}" for name in expected]
    assert sum(own.sum() for own in found.values()) == len(degrees)
    figure, words = draw_entity_map(shown(degrees))
    lines = figure.axes[0].lines
    assert [len(line.get_xdata()) for line in lines] == [own.sum() for own in found.values()]
    counts = ", ".join(f"{name}: {own.sum()}" for name, own in found.items())
    title = f"{len(degrees)} of 99 entities as points along x and y, coloured by degree. "
    assert words == f"{title}{counts}."


def test_names_are_those_of_high_degrees_and_cover_no_other():
    points = [[0, 0], [0.001, 0], [5, 5], [10, 0]]  # the first two would cover each other
    figure, _ = draw_entity_map(shown([7, 8, 9, 1], points))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["_name 2", "_name 1"]  # the last one would leave the figure
    assert "_name 1" in page_svg(figure, "map", "t", "d")


def test_names_whose_glyphs_the_font_lacks_are_left_to_the_browser():
    tokyo = replace(shown([2]), names=("東京\x1b",))
    assert "東京\ufffd" in page_svg(draw_entity_map(tokyo)[0], "map", "t", "d")
