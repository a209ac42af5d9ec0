import pytest

from dglkgmix.report.figures.degree_curves import (
    ENTITY_DEGREE,
    draw_curves,
    draw_joint,
    entity_degree_curves,
    joint_grid,
    tail_relation_curves,
)

EMPTY = {"mrr": None, "queries": 0}
CURVES = {
    "in": {"[0,1)": EMPTY, "[1,3)": {"mrr": 0.2, "queries": 29}, "[3,10)": EMPTY},
    "out": {"[0,1)": EMPTY, "[1,3)": EMPTY, "[3,10)": {"mrr": 0.5, "queries": 30}},
}
CURVES = {name: {**groups, "[10,∞)": EMPTY} for name, groups in CURVES.items()}


def test_lines_cover_intervals_in_use_and_points_on_few_queries_are_hollow():
    figure, words = draw_curves(CURVES, "degree")
    (axes,) = figure.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == ["[1,3)", "[3,10)"]
    points = [line.get_xydata().tolist() for line in axes.lines]
    assert points[0] == [[0, 0.2]]
    assert points[-1] == [[1, 0.5]]
    assert axes.get_xlabel() == "degree"
    hollow = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [line.get_xydata().tolist() for line in hollow] == [[[0, 0.2]]]
    assert hollow[0].get_markerfacecolor() != hollow[0].get_color()
    assert words == "MRR by degree. in: [1,3) 0.200. out: [3,10) 0.500."


def test_nothing_to_draw_is_an_empty_figure():
    figure, words = draw_curves({"in": {"[0,1)": EMPTY}}, "degree")
    assert not figure.axes[0].get_xticklabels()
    assert words.endswith("in: no queries.")


@pytest.mark.parametrize("count", [1, 9])
def test_more_series_than_colours(count):
    figure, _ = draw_curves({f"s{i}": CURVES["in"] for i in range(count)}, "degree")
    assert len(figure.axes[0].get_legend().get_texts()) == count


def test_each_degree_groups_the_queries_its_own_way(make_table):
    table = make_table(
        rank=[1.0, 2.0, 4.0],
        tail_in=[0, 1, 2],
        tail_out=[5, 5, 5],
        head_in=[20_000, 0, 0],
        head_out=[3, 9, 10],
    )
    curves = entity_degree_curves(table)
    used = {
        name: {k: (m["mrr"], m["queries"]) for k, m in groups.items() if m["queries"]}
        for name, groups in curves.items()
    }
    assert used == {
        "tail in-degree": {"[0,1)": (1.0, 1), "[1,3)": (0.375, 2)},
        "tail out-degree": {"[3,10)": (1.75 / 3, 3)},
        "head in-degree": {"[0,1)": (0.375, 2), "[10000,inf)": (1.0, 1)},
        "head out-degree": {"[3,10)": (0.75, 2), "[10,30)": (0.25, 1)},
    }
    figure, words = draw_curves(curves, ENTITY_DEGREE)
    assert figure.axes[0].get_xticklabels()[-1].get_text() == "[10000,∞)"
    assert words.startswith("MRR by degree of the entity. tail in-degree:")


def test_in_and_out_degrees_that_are_the_same_stand_once(make_table):
    table = make_table(rank=[1.0, 2.0], tail_in=[1, 5], tail_out=[1, 5], head_in=[1, 2])
    names = ["tail in- and out-degree", "head in-degree", "head out-degree"]
    assert list(entity_degree_curves(table)) == names


def test_the_two_degrees_add_up_to_the_in_degree(make_table):
    table = make_table(rank=[1.0, 2.0], tail_in=[1, 40], tail_relation=[1, 0])
    curves = tail_relation_curves(table)
    used = {
        name: {k: m["mrr"] for k, m in groups.items() if m["queries"]}
        for name, groups in curves.items()
    }
    assert used == {
        "tail-relation degree": {"[0,1)": 0.5, "[1,3)": 1.0},
        "other-relation in-degree": {"[0,1)": 1.0, "[30,100)": 0.5},
    }


def test_the_joint_grid_and_its_clusters_of_bars(make_table):
    """Tail-relation degrees 0, 0, 60; other-relation ones (in-degree less it) 2, 5, 140."""
    grid = joint_grid(
        make_table(rank=[1.0, 2.0, 5.0], tail_in=[2, 5, 200], tail_relation=[0, 0, 60])
    )
    assert grid["rows"] == ["[0,1)", "[1,3)", "[3,10)", "[10,50)", "[50,inf)"]
    assert grid["columns"] == ["[0,3)", "[3,10)", "[10,30)", "[30,100)", "[100,inf)"]
    assert grid["mrr"] == [[1.0, 0.5, None, None, None], *[[None] * 5] * 3, [*[None] * 4, 0.2]]
    assert [sum(row) for row in grid["queries"]] == [2, 0, 0, 0, 1]
    figure, words = draw_joint(grid)
    (axes,) = figure.axes
    shaded = [bar for bar in axes.patches if bar.get_alpha() is not None]
    assert (len(shaded), len(axes.patches)) == (25, 50)
    first = sorted(shaded, key=lambda bar: bar.get_x())[:5]
    assert [bar.get_height() for bar in first] == [1.0, 0.5, 0.0, 0.0, 0.0]
    shades = [bar.get_alpha() for bar in first]
    assert shades == sorted(shades)
    assert "[100,∞)" in {text.get_text() for text in axes.get_legend().get_texts()}
    assert "tail-relation degree [0,1): [0,3) 1.000, [3,10) 0.500." in words
    assert "tail-relation degree [1,3): no queries." in words
