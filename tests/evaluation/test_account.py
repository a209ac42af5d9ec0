from __future__ import annotations

import pytest

from dglkgmix.evaluation.account import account
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
