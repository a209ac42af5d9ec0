import pytest

from dglkgmix.report.figures.degree_curves import describe_curves, draw_curves

EMPTY = {"mrr": None, "queries": 0}
CURVES = {
    "in": {"[0,1)": EMPTY, "[1,3)": {"mrr": 0.2, "queries": 29}, "[3,10)": EMPTY},
    "out": {"[0,1)": EMPTY, "[1,3)": EMPTY, "[3,10)": {"mrr": 0.5, "queries": 30}},
}
CURVES = {name: {**groups, "[10,∞)": EMPTY} for name, groups in CURVES.items()}


def test_lines_cover_only_intervals_in_use():
    axes = draw_curves(CURVES, "degree").axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["[1,3)", "[3,10)"]
    points = [line.get_xydata().tolist() for line in axes.lines]
    assert points[0] == [[0, 0.2]]
    assert points[-1] == [[1, 0.5]]
    assert axes.get_xlabel() == "degree"


def test_points_on_few_queries_are_hollow():
    lines = draw_curves(CURVES, "degree").axes[0].lines
    hollow = [line for line in lines if line.get_linestyle() == "None"]
    assert [line.get_xydata().tolist() for line in hollow] == [[[0, 0.2]]]
    assert hollow[0].get_markerfacecolor() != hollow[0].get_color()


def test_nothing_to_draw_is_an_empty_figure():
    axes = draw_curves({"in": {"[0,1)": EMPTY}}, "degree").axes[0]
    assert not axes.get_xticklabels()


def test_words():
    assert describe_curves(CURVES, "degree") == (
        "MRR by degree. in: [1,3) 0.200. out: [3,10) 0.500."
    )
    assert describe_curves({"in": {"[0,1)": EMPTY}}, "degree").endswith("in: no queries.")


@pytest.mark.parametrize("count", [1, 9])
def test_more_series_than_colours(count):
    curves = {f"s{i}": CURVES["in"] for i in range(count)}
    assert len(draw_curves(curves, "degree").axes[0].get_legend().get_texts()) == count
