from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.errors import DataError
from dglkgmix.evaluation.platt import SLOPE, fit_platt, log_loss, sigmoid
from tests.evaluation import plain


def sample(scale, offset, count=4000, seed=0):
    """Scores with labels drawn from σ(scale · score + offset)."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(3, 2, count)
    return scores, generator.random(count) < sigmoid(scale * scores + offset)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=5))
@settings(deadline=None)
def test_sigmoid_and_log_loss_are_the_formulas(logits):
    found = sigmoid(np.array(logits))
    assert found == pytest.approx([plain.sigmoid(x) for x in logits], rel=1e-12)
    for label in (0.0, 1.0):
        losses = log_loss(np.array(logits), np.full(len(logits), label))
        # log1p keeps what 1 - p would lose
        expected = [math.log1p(math.exp(-x if label else x)) for x in logits]
        assert losses == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_extreme_logits_stay_finite():
    assert sigmoid(np.array([-1e6, 1e6])).tolist() == [0, 1]
    assert log_loss(np.array([1e6]), np.array([0.0])).tolist() == [1e6]


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (0.3, -2.0), (4.0, -10.0)])
def test_the_fit_is_the_maximum_of_the_likelihood(scale, offset):
    from scipy.optimize import minimize

    scores, labels = sample(scale, offset)
    found = fit_platt(scores, labels)

    def loss(parameters):
        z = parameters[0] * scores + parameters[1]
        return np.mean(np.logaddexp(0, z) - labels * z)

    best = minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert (found.scale, found.offset) == pytest.approx(tuple(best.x), rel=1e-5, abs=1e-5)
    assert (found.scale, found.offset) == pytest.approx((scale, offset), rel=0.15, abs=0.3)


@given(shift=st.floats(-1e3, 1e3), stretch=st.floats(1e-3, 1e3))
@settings(max_examples=25, deadline=None)
def test_scores_on_another_scale_give_the_same_probabilities(shift, stretch):
    scores, labels = sample(1.0, -3.0, 300)
    reference = fit_platt(scores, labels).probability(scores)
    moved = scores * stretch + shift
    assert fit_platt(moved, labels).probability(moved) == pytest.approx(reference, abs=1e-6)


def test_the_slope_is_positive_even_for_scores_that_mislead():
    scores, labels = sample(-1.0, 3.0)
    found = fit_platt(scores, labels)
    assert found.scale == pytest.approx(SLOPE[0] / scores.std())
    # with next to no slope the best offset is the share of true triples
    assert found.probability(scores) == pytest.approx(labels.mean(), abs=1e-3)


def test_scores_that_separate_perfectly_have_a_finite_fit():
    scores = np.array([0.0, 1.0, 2.0, 3.0])
    found = fit_platt(scores, scores > 1.5)
    assert 0 < found.scale < math.inf
    assert found.probability(scores).round(6).tolist() == [0, 0, 1, 1]


def test_equal_scores_say_how_many_are_true():
    found = fit_platt(np.full(10, 7.0), np.arange(10) < 3)
    assert found.probability(np.array([7.0])) == pytest.approx([0.3], abs=1e-6)


@pytest.mark.parametrize("label", [True, False])
def test_both_kinds_are_needed(label):
    with pytest.raises(DataError, match="true and false"):
        fit_platt(np.arange(3.0), np.full(3, label))
