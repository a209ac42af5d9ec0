from pathlib import Path

import pytest
from matplotlib.colors import to_hex

from dglkgmix.errors import ConfigError, StorageError
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.report.figures.canvas import SERIES
from dglkgmix.report.figures.degrees import (
    degree_distribution,
    distribution_of,
    draw_degrees,
)

# Five heads into "t", one triple apart; test asks for t, and for x, which nobody points at.
KG = KnowledgeGraph.from_names(
    [*((f"h{i}", "r", "t") for i in range(5)), ("h0", "s", "h1")],
    test=[("h0", "s", "t"), ("h0", "r", "t")],
)


def test_pairs_are_counted_in_classes_that_double():
    distribution = distribution_of(KG, DegreeBins())
    # (t, r) has degree 5; (h0..h4, r back), (h1, s) and (h0, s back) have degree 1.
    assert distribution.edges == (1, 2, 4, 8)
    assert distribution.pairs == (7, 0, 1)
    assert distribution.test == {"zero": 1, "low": 3, "medium": 0, "high": 0}


def test_bars_show_the_counts():
    figure, words = draw_degrees(distribution_of(KG, DegreeBins()))
    left, right = figure.axes
    labels = [*left.get_xticklabels(), *left.get_yticklabels()]
    assert all("$" not in label.get_text() for label in labels)
    assert [bar.get_height() for bar in left.patches] == [7, 0, 1]
    assert [bar.get_x() for bar in left.patches] == [1, 2, 4]
    assert [bar.get_width() for bar in right.patches] == [25, 75, 0, 0]
    assert [text.get_text() for text in right.texts] == [
        "25.0 %  (1)", "75.0 %  (3)", "0.0 %  (0)", "0.0 %  (0)",
    ]  # fmt: skip
    assert [label.get_text() for label in right.get_yticklabels()] == [
        "zero  [0,1)", "low  [1,10)", "medium  [10,50)", "high  [50,∞)",
    ]  # fmt: skip
    assert right.yaxis_inverted()
    assert right.get_title(loc="left") == "Where the 4 test queries lie"
    assert {to_hex(bar.get_facecolor()) for bar in right.patches} == {SERIES[0]}
    assert words == (
        "Tail-relation degrees of 8 pairs of tail and relation, from 1 to below 8; "
        "7 pairs have degree 1. Test queries by degree of the answer: "
        "zero 1 (25.0 %), low 3 (75.0 %), medium 0 (0.0 %), high 0 (0.0 %)."
    )


def test_bounds_of_bins_within_the_degrees_are_drawn():
    left, _ = draw_degrees(distribution_of(KG, DegreeBins([1, 3, 100])))[0].axes
    assert [line.get_xdata()[0] for line in left.lines] == [3]
    assert not left.texts
    left, _ = draw_degrees(distribution_of(KG, DegreeBins()))[0].axes
    assert [text.get_text() for text in left.texts] == ["low"]


def test_without_test_queries():
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]])
    _, right = draw_degrees(distribution_of(kg, DegreeBins([1, 5])))[0].axes
    assert right.get_title(loc="left") == "No test queries"
    assert [text.get_text() for text in right.texts] == ["-", "-", "-"]


def test_files_and_endings(tmp_path: Path):
    degree_distribution(KG, tmp_path / "x.PNG", DegreeBins())
    assert (tmp_path / "x.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigError, match=r"x\.gif: the name must end in \.png, \.svg or \.pdf"):
        degree_distribution(KG, tmp_path / "x.gif", DegreeBins())
    with pytest.raises(StorageError, match="folder does not exist"):
        degree_distribution(KG, tmp_path / "gone" / "x.svg", DegreeBins())
    assert [path.name for path in tmp_path.iterdir()] == ["x.PNG"]
