import math

from dglkgmix.report.figures.joint_degree import (
    describe_joint_degree,
    draw_joint_degree,
    joint_grid,
)


def grid(make_table):
    # tail-relation 0, 0, 60; other-relation (in-degree less it) 2, 5, 140.
    return joint_grid(
        make_table(rank=[1.0, 2.0, 5.0], tail_in=[2, 5, 200], tail_relation=[0, 0, 60])
    )


def test_queries_fall_into_their_cells(make_table):
    cells = grid(make_table)
    assert cells.tail_names == ("[0,1)", "[1,3)", "[3,10)", "[10,50)", "[50,∞)")
    assert cells.other_names == ("[0,3)", "[3,10)", "[10,30)", "[30,100)", "[100,∞)")
    found = {
        (t, o): (cells.mrr[i][j], cells.queries[i][j])
        for i, t in enumerate(cells.tail_names)
        for j, o in enumerate(cells.other_names)
        if cells.queries[i][j]
    }
    assert found == {
        ("[0,1)", "[0,3)"): (1.0, 1),
        ("[0,1)", "[3,10)"): (0.5, 1),
        ("[50,∞)", "[100,∞)"): (0.2, 1),
    }
    assert math.isnan(cells.mrr[1][0])


def test_a_cluster_of_bars_for_each_range(make_table):
    axes = draw_joint_degree(grid(make_table)).axes[0]
    shaded = [bar for bar in axes.patches if bar.get_alpha() is not None]
    assert len(shaded) == 25
    assert len(axes.patches) == 50
    first = sorted(shaded, key=lambda bar: bar.get_x())[:5]
    assert [bar.get_height() for bar in first] == [1.0, 0.5, 0.0, 0.0, 0.0]
    shades = [bar.get_alpha() for bar in first]
    assert shades == sorted(shades)
    assert axes.get_legend().get_texts()[0].get_text() == "[0,3)"


def test_words(make_table):
    words = describe_joint_degree(grid(make_table))
    assert "tail-relation degree [0,1): [0,3) 1.000, [3,10) 0.500." in words
    assert "tail-relation degree [1,3): no queries." in words
