from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dglkgmix.evaluation.calibration import (
    assess_calibration,
    degree_ece,
    errors,
    fit_calibration,
    reliability,
)
from dglkgmix.evaluation.negatives import labelled_scores
from dglkgmix.evaluation.platt import Platt, fit_platt
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation import plain
from tests.evaluation.conftest import table_of
from tests.evaluation.graphs import graphs, library
from tests.evaluation.stand_ins import TableScorer

PROBABILITIES = st.lists(
    st.tuples(st.integers(-40, 40).map(lambda x: x / 8), st.booleans()), min_size=1, max_size=60
)


@given(graph=graphs(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_paper_s_ece_is_that_of_plain_loops(graph, data):
    queries = graph.queries("test")
    ranks = data.draw(st.lists(st.integers(1, 20), min_size=len(queries), max_size=len(queries)))
    scores = data.draw(st.lists(st.integers(-8, 8), min_size=len(queries), max_size=len(queries)))
    found = degree_ece(table_of(library(graph), ranks, scores), DegreeBins())
    rows = [
        (rank, score, graph.d_tail(t, r))
        for rank, score, (_, r, t) in zip(ranks, scores, queries, strict=True)
    ]
    overall, parts = plain.degree_ece(rows, 4)
    assert found.pop("overall") == pytest.approx(overall)
    assert list(found) == ["zero", "low", "medium", "high"]
    assert [None if v is None else pytest.approx(v) for v in parts] == list(found.values())


def test_without_scores_there_is_no_ece(toy, make_ranks):
    table = make_ranks(toy, [1, 2, 3, 4], scores=[1, 2, math.nan, 4])
    assert set(degree_ece(table, DegreeBins()).values()) == {None}


def plain_errors(pairs):
    """15 equal-mass bins over (logit, label), equal probabilities together."""
    probabilities = [plain.sigmoid(z) for z, _ in pairs]
    bins = {}
    for p, (_, label) in zip(probabilities, pairs, strict=True):
        smaller = sum(q < p for q in probabilities)
        bins.setdefault(15 * smaller // len(pairs), []).append((p, label))
    return {
        "ece": sum(
            len(b) / len(pairs) * abs(plain.mean(y for _, y in b) - plain.mean(p for p, _ in b))
            for b in bins.values()
        ),
        "brier": plain.mean((plain.sigmoid(z) - y) ** 2 for z, y in pairs),
        "log_loss": plain.mean(-math.log(plain.sigmoid(z if y else -z)) for z, y in pairs),
    }


# PyTorch's σ of the fifteen 0 has two values, which differ in their last bit.
@example(pairs=[*[(0.0, False)] * 15, (1.875, False), (1.875, True)])
@given(pairs=PROBABILITIES)
@settings(max_examples=80, deadline=None)
def test_ece_brier_and_log_loss_are_those_of_plain_loops(pairs):
    scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
    assert errors(scores, labels, Platt()) == pytest.approx(plain_errors(pairs))
    platt = Platt(0.5, -1.0)
    scaled = [(0.5 * z - 1.0, y) for z, y in pairs]
    assert errors(scores, labels, platt) == pytest.approx(plain_errors(scaled))


@given(pairs=PROBABILITIES)
@settings(max_examples=40, deadline=None)
def test_the_reliability_diagram_holds_everything_once(pairs):
    scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
    points = reliability(scores, labels, Platt())
    assert sum(point.size for point in points) == len(pairs)
    assert len(points) <= 15
    assert points == sorted(points)
    gap = sum(p.size * abs(p.share - p.probability) for p in points)
    assert gap / len(pairs) == pytest.approx(errors(scores, labels, Platt())["ece"], abs=1e-12)


def test_a_model_that_tells_the_truth_is_calibrated():
    generator = np.random.default_rng(0)
    scores = generator.normal(0, 2, 20_000)
    labels = generator.random(20_000) < Platt().probability(scores)
    assert errors(scores, labels, Platt())["ece"] < 0.012
    assert errors(3 * scores, labels, Platt())["ece"] > 0.1


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
    assert (found["scale"], found["offset"]) == (platt.scale, platt.offset)
    low = (test.degrees >= 1) & (test.degrees < 10)
    zero = test.degrees < 1
    assert found["bins"]["zero"]["after"] == errors(test.scores[zero], test.labels[zero], platt)
    assert found["bins"]["low"]["before"] == errors(test.scores[low], test.labels[low], Platt())
    assert [found["bins"][name]["triples"] for name in ("zero", "low", "medium", "high")] == [
        *(zero.sum(), low.sum(), 0, 0)
    ]
    assert set(found["bins"]["high"]["before"].values()) == {None}


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
