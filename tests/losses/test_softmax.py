"""Softmax cross-entropy from small tensors."""

from __future__ import annotations

import math

import pytest
import torch

from dglkgmix.losses.pointwise import Focus
from dglkgmix.losses.softmax import Softmax

# Scores log 1, log 2, log 5 over 3 candidates: probabilities 1/8, 2/8, 5/8.
SCORES = torch.tensor([1.0, 2.0, 5.0], dtype=torch.double).log()


def term(softmax: Softmax, tail: int, weights: torch.Tensor | None = None) -> float:
    sums = SCORES.logsumexp(0, keepdim=True), SCORES[[tail]], SCORES.sum(0, keepdim=True)
    return float(softmax.terms(*sums, 3, weights=weights))


def test_plain() -> None:
    assert term(Softmax(0.0, 3), 1) == pytest.approx(-math.log(2 / 8))


def test_smoothed_over_all_entities() -> None:
    logs = [math.log(1 / 8), math.log(2 / 8), math.log(5 / 8)]
    expected = -(0.7 * logs[2] + 0.1 * sum(logs))
    assert term(Softmax(0.3, 3), 2) == pytest.approx(expected)


def test_smoothed_over_some_candidates() -> None:
    """With |V| = 30 each of the 3 candidates gets 0.3 / 30."""
    logs = [math.log(1 / 8), math.log(2 / 8), math.log(5 / 8)]
    assert term(Softmax(0.3, 30), 2) == pytest.approx(-(0.7 * logs[2] + 0.01 * sum(logs)))


def test_weighted() -> None:
    weights = torch.tensor([2.5], dtype=torch.double)
    assert term(Softmax(0.0, 3), 1, weights) == pytest.approx(-2.5 * math.log(2 / 8))


def test_focal() -> None:
    """(1 - 5/8)^2 and (1 - 1/8)^2."""
    focal = Softmax(0.0, 3, Focus(2.0))
    assert term(focal, 2) == pytest.approx(-((3 / 8) ** 2) * math.log(5 / 8))
    assert term(focal, 0) == pytest.approx(-((7 / 8) ** 2) * math.log(1 / 8))


@pytest.mark.parametrize("detach", [True, False])
def test_gradient_of_the_focal_factor(detach: bool) -> None:
    """p = e^(s_t - z), term = -(1 - p)^2 log p: by s_t it is 2 p (1 - p) log p - (1 - p)^2."""
    picked = torch.tensor([-0.7], dtype=torch.double, requires_grad=True)
    zero = torch.zeros(1, dtype=torch.double)
    Softmax(0.0, 3, Focus(2.0, detach)).terms(zero, picked, zero, 3).sum().backward()
    p = math.exp(-0.7)
    through = 0.0 if detach else 2 * p * (1 - p) * math.log(p)
    assert float(picked.grad) == pytest.approx(through - (1 - p) ** 2)


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_a_sure_answer_has_a_finite_gradient(gamma: float) -> None:
    picked = torch.zeros(1, requires_grad=True)
    term = Softmax(0.0, 3, Focus(gamma)).terms(torch.zeros(1), picked, 0.0, 3).sum()
    term.backward()
    assert float(term.detach()) == 0.0
    assert torch.isfinite(picked.grad).all()
