from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.evaluation.calibration import (
    degree_ece,
    errors,
    probability_bins,
    reliability,
    report,
)
from dglkgmix.evaluation.platt import Platt
from dglkgmix.kg.degrees import DegreeBins
from tests.evaluation import plain
from tests.evaluation.conftest import table_of
from tests.evaluation.graphs import graphs, library

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
    counts = [point["count"] for point in points]
    assert sum(counts) == len(pairs)
    assert len(points) <= 15
    confidence = [point["confidence"] for point in points]
    assert confidence == sorted(confidence)
    gap = sum(p["count"] * abs(p["accuracy"] - p["confidence"]) for p in points)
    assert gap / len(pairs) == pytest.approx(errors(scores, labels, Platt())["ece"], abs=1e-12)


def test_bins_hold_equal_masses_of_distinct_probabilities():
    groups = probability_bins(np.random.default_rng(0).permutation(300) / 300)
    assert np.bincount(groups).tolist() == [20] * 15


def test_a_model_that_tells_the_truth_is_calibrated():
    generator = np.random.default_rng(0)
    scores = generator.normal(0, 2, 20_000)
    labels = generator.random(20_000) < Platt().probability(scores)
    assert errors(scores, labels, Platt())["ece"] < 0.012
    assert errors(3 * scores, labels, Platt())["ece"] > 0.1


def test_the_report_has_both_states_overall_and_by_bin():
    scores = np.array([2.0, -1.0, 0.5, 0.0])
    labels = np.array([True, False, True, False])
    platt, bins = Platt(2.0, -0.5), DegreeBins()
    found = report(scores, labels, platt, np.array([0, 0, 3, 3]), bins)
    assert (found["scale"], found["offset"]) == (2.0, -0.5)
    assert found["before"] == errors(scores, labels, Platt())
    assert found["after"] == errors(scores, labels, platt)
    assert found["bins"]["zero"]["after"] == errors(scores[:2], labels[:2], platt)
    assert found["bins"]["high"]["before"] == errors(scores[2:], labels[2:], Platt())
    assert [part["triples"] for part in found["bins"].values()] == [2, 0, 0, 2]
    assert set(found["bins"]["low"]["before"].values()) == {None}
