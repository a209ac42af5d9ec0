from __future__ import annotations

import pytest

from dglkgmix.evaluation.seeds import over_seeds


def test_numbers_become_mean_and_sample_deviation():
    found = over_seeds(
        [{"overall": {"mrr": 0.1, "queries": 4}}, {"overall": {"mrr": 0.3, "queries": 4}}]
    )
    assert found["overall"]["mrr"] == {
        "mean": pytest.approx(0.2),
        "sd": pytest.approx(0.2 / 2**0.5),
        "seeds": 2,
    }
    assert found["overall"]["queries"] == {"mean": 4, "sd": 0, "seeds": 2}


def test_one_seed_has_no_spread():
    assert over_seeds([{"mrr": 0.5}]) == {"mrr": {"mean": 0.5, "sd": None, "seeds": 1}}


def test_what_any_seed_lacks_is_lacking():
    found = over_seeds([{"a": None, "b": {"c": 1}}, {"a": 1, "b": None}])
    assert found == {"a": None, "b": None}


def test_a_text_that_all_share_stays():
    assert over_seeds([{"a": "x", "b": "x"}, {"a": "x", "b": "y"}]) == {"a": "x", "b": None}
