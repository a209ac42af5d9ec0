from __future__ import annotations

import pytest

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.details import KINDS, details


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
