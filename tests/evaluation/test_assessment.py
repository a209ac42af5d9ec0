from __future__ import annotations

import pytest
import torch

from dglkgmix.evaluation.assessment import assess_calibration, fit_calibration
from dglkgmix.evaluation.calibration import errors
from dglkgmix.evaluation.negatives import labelled_scores
from dglkgmix.evaluation.platt import Platt, fit_platt
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.conftest import table_of
from tests.evaluation.stand_ins import TableScorer


@pytest.fixture
def case():
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(0, 9, (60, 3), generator=generator) % torch.tensor([9, 2, 9])
    kg = KnowledgeGraph.from_arrays(rows[:20], rows[20:40], rows[40:], entities=9, relations=2)
    scorer = TableScorer(torch.randn(4, 9, 9, generator=generator))
    tables = {
        split: table_of(kg, [1] * 40, torch.randn(40, generator=generator) + 1, split)
        for split in ("valid", "test")
    }
    return kg, scorer, tables


def test_fitted_on_validation_and_applied_to_test(case):
    kg, scorer, tables = case
    platt = fit_calibration(scorer, kg, tables["valid"], seed=3)
    valid = labelled_scores(scorer, kg, "valid", tables["valid"], seed=3)
    assert platt == fit_platt(valid.scores, valid.labels)
    found = assess_calibration(
        scorer, kg, "test", tables["test"], platt=platt, bins=DegreeBins(), seed=4
    )
    test = labelled_scores(scorer, kg, "test", tables["test"], seed=4)
    assert found["after"] == errors(test.scores, test.labels, platt)
    assert found["before"] == errors(test.scores, test.labels, Platt())
    zero = test.degrees < 1
    assert found["bins"]["zero"]["after"] == errors(test.scores[zero], test.labels[zero], platt)


def test_given_false_triples_take_the_place_of_sampled_ones(case):
    kg, scorer, tables = case
    false = torch.tensor([[0, 1, 3], [2, 0, 5]])
    platt = fit_calibration(scorer, kg, tables["valid"], false_triples=false)
    found = labelled_scores(scorer, kg, "valid", tables["valid"], false_triples=false)
    assert platt == fit_platt(found.scores, found.labels)


def test_without_validation_triples_there_is_nothing_to_fit(case):
    kg, scorer, _ = case
    bare = KnowledgeGraph.from_arrays(kg.train, None, kg.test, entities=9, relations=2)
    assert fit_calibration(scorer, bare, table_of(bare, [], split="valid")) is None


def test_where_every_triple_is_true_there_is_nothing_to_fit():
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], [(0, 0, 0)], entities=1)
    scorer = TableScorer(torch.zeros(2, 1, 1))
    assert fit_calibration(scorer, kg, table_of(kg, [1, 1], split="valid")) is None
