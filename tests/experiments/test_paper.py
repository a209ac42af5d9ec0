import json
from pathlib import Path

import pytest

from dglkgmix.experiments.paper import paper_numbers

TABLES = Path(__file__).resolve().parents[3] / "shared" / "paper" / "tables.json"


def test_numbers_typed_from_the_paper():
    conve = paper_numbers("fb15k-237", "conve", "mixup")
    assert conve["overall.mrr"] == 0.3433
    assert conve["bins.zero.mrr"] == 0.109
    assert (conve["ece.low"], conve["distances.head"]) == (0.08, 1.09)
    assert paper_numbers("fb15k-237", "tucker", "swa") == {
        "overall.mrr": 0.3577,
        "bins.low.mrr": 0.1418,
    }


@pytest.mark.parametrize("cell", [("world", "conve", "mixup"), ("codex-m", "", "mixup")])
def test_what_the_paper_does_not_have_is_empty(cell):
    assert paper_numbers(*cell) == {}


def test_a_callers_changes_stay_his():
    paper_numbers("codex-m", "conve", "mixup").clear()
    assert paper_numbers("codex-m", "conve", "mixup")


def leaves(tree, path=()):
    """Every number of nested tables with the keys that lead to it."""
    if not isinstance(tree, dict):
        return [(path, tree)]
    return [leaf for key, value in tree.items() for leaf in leaves(value, (*path, key))]


@pytest.mark.parametrize(
    ("table", "key", "scale", "count"),
    [
        ("main", "overall.{}", 100, 90),
        ("bins", "bins.{}.mrr", 100, 120),
        ("ece", "ece.{}", 1, 24),
    ],
)
def test_all_numbers_of_a_table(table, key, scale, count):
    if not TABLES.exists():
        pytest.skip(f"shared data absent: {TABLES}")
    found = leaves(json.loads(TABLES.read_text())[table])
    assert len(found) == count
    for (model, strategy, data, name), value in found:
        ours = paper_numbers(data, model, strategy)[key.format(name)]
        assert ours == pytest.approx(value / scale)
