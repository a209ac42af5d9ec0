from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.evaluation import list_probability
from dglkgmix.evaluation.list_account import ListedAnswers, bands, listed_answers
from dglkgmix.evaluation.list_probability import cross_fitted, fit_on_validation
from dglkgmix.evaluation.shortlist import Shortlists, read_shortlists
from dglkgmix.kg.degrees import DegreeBins
from tests.evaluation.stand_ins import TableScorer


@pytest.fixture
def answers():
    """Two lists; the second, of a reciprocal relation, has a single candidate."""
    lists = Shortlists(
        relations=np.array([0, 4]),
        known=np.array([0, 0]),
        entities=np.arange(6).reshape(2, 3),
        scores=np.array([[3.0, 2, 1], [5, -np.inf, -np.inf]]),
        degrees=np.array([[0, 2, 60], [0, 0, 0]]),
        shared=np.zeros((2, 3, 2)),
    )
    true = np.array([[True, False, True], [False, False, False]])
    probability = np.array([[0.8, 0.4, 0.4], [1.0, np.nan, np.nan]])
    return ListedAnswers.of(lists, true, probability)


def test_figures_by_hand(answers):
    """Bands: 0.8 alone, 0.4 twice (one true), 1.0 alone."""
    found = answers.figures(np.ones(4, dtype=bool))
    assert found["answers"] == 4
    assert found["probability"] == pytest.approx(2.6 / 4)
    assert (found["precision@1"], found["precision@3"], found["precision@10"]) == (0.5, 0.5, 0.5)
    assert found["ece"] == pytest.approx((0.2 + 0.2 + 1) / 4)
    assert found["brier"] == pytest.approx((0.04 + 0.16 + 0.36 + 1) / 4)
    assert found["brier_base"] == pytest.approx(0.25)


def test_groups_by_hand(answers, toy):
    found = answers.account(DegreeBins())
    assert list(found) == ["overall", "bands", "bins"]
    assert len(found["bands"]) == 10
    assert {name for name, part in found["bands"].items() if part["answers"]} == {
        *("0.4-0.5", "0.8-0.9", "0.9-1.0")
    }
    assert found["bands"]["0.4-0.5"]["precision@10"] == 0.5
    assert found["bands"]["0.4-0.5"]["precision@1"] is None
    assert {name: part["answers"] for name, part in found["bins"].items()} == {
        "zero": 2,
        "low": 1,
        "medium": 0,
        "high": 1,
    }
    assert found["bins"]["zero"]["ece"] == pytest.approx((0.2 + 1) / 2)
    assert set(found["bins"]["medium"].values()) == {0, None}
    relations = answers.by_relation(toy)  # three relations: 4 is the reciprocal of 1
    assert {name: part["answers"] for name, part in relations.items()} == {
        toy.relations[0]: 3,
        toy.relations[1]: 1,
    }


def test_bands_of_equal_width():
    assert bands(np.array([0, 1 / 15 - 1e-9, 1 / 15 + 1e-9, 0.999, 1.0]), 15).tolist() == [
        *(0, 0, 1, 14, 14)
    ]


def test_only_ten_places_are_looked_at():
    lists = Shortlists(
        *(np.array([0]), np.array([0]), np.arange(20)[None], -np.arange(20.0)[None]),
        *(np.zeros((1, 20)), np.zeros((1, 20, 2))),
    )
    every = np.ones((1, 20), dtype=bool)
    assert ListedAnswers.of(lists, every, every * 0.5).place.tolist() == list(range(1, 11))


def test_answers_of_validation_are_cross_fitted(toy, monkeypatch):
    monkeypatch.setattr(list_probability, "FEWEST", 1)
    table = torch.randn(6, 5, 5, generator=torch.Generator().manual_seed(0))
    scorer = TableScorer(table)
    fitted = fit_on_validation(scorer, toy)
    for split in ("valid", "test"):
        lists, true = read_shortlists(scorer, toy, split)
        expected = cross_fitted(lists, true) if split == "valid" else fitted.of(lists)
        found = listed_answers(scorer, toy, split, fitted)
        assert found.probability == pytest.approx(expected[lists.filled])
    monkeypatch.setattr(list_probability, "FEWEST", 4)  # enough for all queries, not for a fold
    assert fit_on_validation(scorer, toy) is not None
    assert listed_answers(scorer, toy, "valid", fitted) is None
