from __future__ import annotations

import pytest

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.account import KINDS, account, details, over_seeds
from dglkgmix.kg.degrees import DegreeBins


def test_the_keys_are_the_contract(toy, make_ranks):
    found = account(
        make_ranks(toy, [1, 2, 4, 1], scores=[0, 1, -1, 2]), DegreeBins(), {"scale": 2}, {"y": 1}
    )
    group = {"mrr", "mr", "hits@1", "hits@3", "hits@10", "amri", "queries"}
    names = {"zero", "low", "medium", "high"}
    parts = {"overall", "directions", "bins", "ece", "calibration", "shortlist", "candidates"}
    assert found.keys() == parts | {"entities"}
    assert found["candidates"] == {"rule": "all", "missed": 0, "share": 0}
    assert found["overall"].keys() == group
    assert found["directions"].keys() == {"head", "tail"}
    assert found["bins"].keys() == names
    assert all(part.keys() == group for part in found["bins"].values())
    assert found["ece"].keys() == {"overall", *names}
    assert found["calibration"] == {"scale": 2}
    assert found["shortlist"] == {"y": 1}
    assert found["overall"]["mrr"] == (1 + 1 / 2 + 1 / 4 + 1) / 4
    assert found["bins"]["high"] == dict.fromkeys(group) | {"queries": 0}
    assert found["ece"]["high"] is None


def test_other_bins_are_named_by_their_interval(toy, make_ranks):
    found = account(make_ranks(toy, [1, 2, 4, 1]), DegreeBins((2,)))
    assert list(found["bins"]) == list(found["ece"])[1:] == ["[0,2)", "[2,inf)"]
    assert sum(group["queries"] for group in found["bins"].values()) == 4
    assert found["calibration"] is found["shortlist"] is None
    assert found["overall"]["hits@1"] == pytest.approx(0.5)


@pytest.fixture
def table(toy, make_ranks):
    return make_ranks(toy, [1, 2.5, 3, 4])


def test_each_kind_is_its_own_grouping(toy, table):
    found = {kind: details(table, toy, kind) for kind in KINDS}
    assert found["relation"] == metrics.by_relation(table)
    # a likes b and c, b likes c: 1.5 tails a head; d and c know c, d knows a: 1.5 both ways
    assert list(found["relation-class"]) == ["n-n head", "n-n tail"]
    assert found["ties"]["optimistic"] == metrics.overall(table, "optimistic")
    assert found["macro"]["relations"] == metrics.macro(table, "relations")
    for kind in ("head-in", "head-out", "tail-in", "tail-out", "other-relation"):
        assert sum(group["queries"] for group in found[kind].values()) == 4


def test_degrees_are_the_query_s(toy, table):
    # given entities d, lone, c, c with in-degrees 2, 0, 5, 5
    found = details(table, toy, "head-in")
    assert {name: group["queries"] for name, group in found.items() if group["queries"]} == {
        "[0,1)": 1,
        "[1,3)": 1,
        "[3,10)": 2,
    }


def test_the_grid_has_a_cell_for_every_query(toy, table):
    found = details(table, toy, "joint")
    assert found["rows"] == ["zero", "low", "medium", "high"]
    assert sum(map(sum, found["queries"])) == 4
    for figures, counts in zip(found["mrr"], found["queries"], strict=True):
        assert [value is None for value in figures] == [count == 0 for count in counts]


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        ([{"mrr": 0.5}], {"mrr": {"mean": 0.5, "sd": None, "seeds": 1}}),
        (
            [{"a": {"mrr": 1, "n": 4}}, {"a": {"mrr": 3, "n": 4}}],
            {
                "a": {
                    "mrr": {"mean": 2, "sd": pytest.approx(2**0.5), "seeds": 2},
                    "n": {"mean": 4, "sd": 0, "seeds": 2},
                }
            },
        ),
        ([{"a": None, "b": {"c": 1}}, {"a": 1, "b": None}], {"a": None, "b": None}),
        ([{"a": "x", "b": "x"}, {"a": "x", "b": "y"}], {"a": "x", "b": None}),
    ],
)
def test_several_seeds_are_a_tree_of_means(seeds, expected):
    assert over_seeds(seeds) == expected
