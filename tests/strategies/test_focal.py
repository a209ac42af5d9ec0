"""Focal loss on five triples: every term by hand."""

from __future__ import annotations

import math

import pytest
import torch

from dglkgmix.losses.pointwise import Focus
from dglkgmix.losses.targets import Positives
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.training.objectives import objective
from tests.settings import settled_training


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_options_reach_the_factor(make) -> None:
    assert make("focal").focus == Focus(2.0, detach=False)
    assert make("focal", gamma=1.0, focal_detach=True).focus == Focus(1.0, detach=True)


def test_each_binary_term(make, five) -> None:
    """(0, r2, ?) is answered by 1, 2 and 3, not by 0 and 4; ε = 0.1 over 5 entities."""
    batch = QueryBatches(five, 1).batch(five.train_index.locate([0], [2]))
    assert batch.tails.tolist() == [1, 2, 3]
    scores = [0.5, 2.0, -1.0, 0.0, -3.0]
    expected = 0.0
    for entity, s in enumerate(scores):
        true = entity in (1, 2, 3)
        p_t = sigma(s) if true else 1 - sigma(s)
        expected += (1 - p_t) ** 2 * (softplus(s) - (0.92 if true else 0.02) * s)
    loss = objective(settled_training(label_smoothing=0.1), make("focal").focus, 5)
    given = torch.tensor([scores], dtype=torch.double)
    value = loss.of_scores(given, Positives(batch.rows, batch.tails))
    assert float(value) == pytest.approx(expected)


def test_each_softmax_term(make) -> None:
    """Three positives of one row, each with its own (1 - softmax_t)^2."""
    scores = [0.5, 2.0, -1.0, 0.0, -3.0]
    total = sum(map(math.exp, scores))
    shares = [math.exp(s) / total for s in scores]
    expected = sum((1 - shares[t]) ** 2 * -math.log(shares[t]) for t in (1, 2, 3))
    training = settled_training(loss="ce", label_smoothing=0.0)
    loss = objective(training, make("focal", loss="ce").focus, 5)
    rows, tails = torch.tensor([0, 0, 0]), torch.tensor([1, 2, 3])
    value = loss.of_scores(torch.tensor([scores], dtype=torch.double), Positives(rows, tails))
    assert float(value) == pytest.approx(expected)
