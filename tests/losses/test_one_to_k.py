"""Losses of 1-K batches, by hand."""

from __future__ import annotations

import math

import pytest
import torch

from dglkgmix.losses.one_to_k import one_to_k_bce, one_to_k_ce, synthetic_bce
from dglkgmix.losses.pointwise import Focus, bce_terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Targets

POSITIVE = torch.tensor([0.3, -1.0], dtype=torch.double)
NEGATIVES = torch.tensor([[0.1, 2.0, -0.5], [1.0, -2.0, 0.0]], dtype=torch.double)
MASK = torch.tensor([[True, True, False], [True, True, True]])


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


class TestBinary:
    def test_positives_and_unmasked_negatives(self) -> None:
        terms = bce_terms(Targets(0.92, 0.02), None)
        loss = one_to_k_bce(POSITIVE, NEGATIVES, MASK, terms)
        expected = sum(softplus(s) - 0.92 * s for s in (0.3, -1.0))
        expected += sum(softplus(s) - 0.02 * s for s in (0.1, 2.0, 1.0, -2.0, 0.0))
        assert float(loss) == pytest.approx(expected)

    def test_weights_are_the_positives(self) -> None:
        terms = bce_terms(Targets(), None)
        weights = torch.tensor([2.0, 3.0], dtype=torch.double)
        loss = one_to_k_bce(POSITIVE, NEGATIVES, MASK, terms, weights=weights)
        expected = 2 * softplus(-0.3) + 3 * softplus(1.0)
        expected += sum(softplus(s) for s in (0.1, 2.0, 1.0, -2.0, 0.0))
        assert float(loss) == pytest.approx(expected)

    def test_focal(self) -> None:
        terms = bce_terms(Targets(), Focus(1.0))
        loss = one_to_k_bce(POSITIVE[:1], NEGATIVES[:1, :1], MASK[:1, :1], terms)
        p, q = 1 / (1 + math.exp(-0.3)), 1 / (1 + math.exp(-0.1))
        assert float(loss) == pytest.approx((1 - p) * softplus(-0.3) + q * softplus(0.1))


class TestSoftmax:
    def test_over_the_positive_and_its_unmasked_negatives(self) -> None:
        loss = one_to_k_ce(POSITIVE, NEGATIVES, MASK, Softmax(0.0, 50))
        first = math.log(sum(math.exp(s) for s in (0.3, 0.1, 2.0))) - 0.3
        second = math.log(sum(math.exp(s) for s in (-1.0, 1.0, -2.0, 0.0))) + 1.0
        assert float(loss) == pytest.approx(first + second)

    def test_smoothed_and_weighted(self) -> None:
        weights = torch.tensor([2.0, 3.0], dtype=torch.double)
        loss = one_to_k_ce(POSITIVE, NEGATIVES, MASK, Softmax(0.1, 50), weights=weights)
        expected = 0.0
        for weight, scores in ((2, (0.3, 0.1, 2.0)), (3, (-1.0, 1.0, -2.0, 0.0))):
            partition = math.log(sum(map(math.exp, scores)))
            logs = [s - partition for s in scores]
            expected -= weight * (0.9 * logs[0] + 0.1 / 50 * sum(logs))
        assert float(loss) == pytest.approx(expected)

    def test_all_negatives_masked(self) -> None:
        """The true tail alone has probability 1; nothing becomes undefined."""
        positive = POSITIVE.clone().requires_grad_()
        negatives = NEGATIVES.clone().requires_grad_()
        loss = one_to_k_ce(positive, negatives, torch.zeros_like(MASK), Softmax(0.0, 50))
        loss.backward()
        assert float(loss.detach()) == pytest.approx(0.0)
        assert positive.grad.tolist() == pytest.approx([0.0, 0.0])
        assert negatives.grad.abs().max() == 0

    def test_masked_scores_get_no_gradient(self) -> None:
        negatives = NEGATIVES.clone().requires_grad_()
        one_to_k_ce(POSITIVE, negatives, MASK, Softmax(0.1, 50)).backward()
        assert ((negatives.grad == 0) == ~MASK).all()


class TestSynthetic:
    def test_one_positive_term_each(self) -> None:
        """Case 1: the target is a real positive's, 0.92."""
        terms = bce_terms(Targets.smoothed(0.1, "auto", 5), None)
        expected = sum(softplus(s) - 0.92 * s for s in (0.3, -1.0))
        assert float(synthetic_bce(POSITIVE, terms)) == pytest.approx(expected)

    def test_each_with_its_weight(self) -> None:
        terms = bce_terms(Targets.smoothed(0.1, "auto", 5), None)
        expected = 3 * (softplus(0.3) - 0.92 * 0.3) + 0.5 * (softplus(-1.0) + 0.92)
        found = synthetic_bce(POSITIVE, terms, weights=torch.tensor([3, 0.5]))
        assert float(found) == pytest.approx(expected)

    def test_none(self) -> None:
        assert float(synthetic_bce(torch.empty(0), bce_terms(Targets(), None))) == 0.0
