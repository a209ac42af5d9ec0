from dglkgmix.report.figures.tail_relation_degree import (
    describe_tail_relation,
    draw_tail_relation,
    tail_relation_curves,
)


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
    assert len(draw_tail_relation(curves).axes[0].get_legend().get_texts()) == 2
    assert "tail-relation degree: [0,1) 0.500, [1,3) 1.000." in describe_tail_relation(curves)
