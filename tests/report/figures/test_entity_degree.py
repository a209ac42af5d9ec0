from dglkgmix.report.figures.entity_degree import (
    describe_entity_degree,
    draw_entity_degree,
    entity_degree_curves,
)


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
    axes = draw_entity_degree(curves).axes[0]
    assert axes.get_xticklabels()[-1].get_text() == "[10000,∞)"
    assert describe_entity_degree(curves).startswith("MRR by degree of the entity. tail in-degree:")


def test_in_and_out_degrees_that_are_the_same_stand_once(make_table):
    table = make_table(rank=[1.0, 2.0], tail_in=[1, 5], tail_out=[1, 5], head_in=[1, 2])
    names = ["tail in- and out-degree", "head in-degree", "head out-degree"]
    assert list(entity_degree_curves(table)) == names
