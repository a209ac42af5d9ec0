"""Logit adjustment on five triples."""

from __future__ import annotations

import math

import pytest
import torch

from dglkgmix.kernels.one_to_n import one_to_n_ce_scores
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Positives
from dglkgmix.strategies.logit_adjustment import LogPrior

# p(t | r0): three triples, all with tail 0. p(t | r1): tails 0 and 2, once each.


def log_prior(five, relation: int, smoothing: float) -> torch.Tensor:
    """log p(t | r) (E,) by the method's words."""
    tails = [t for _, r, t in five.edges.tolist() if r == relation]
    counts = torch.tensor([tails.count(entity) for entity in range(5)], dtype=torch.double)
    return ((counts + smoothing) / (len(tails) + 5 * smoothing)).log()


def test_entries_by_hand(make) -> None:
    strategy = make("logit-adjustment", loss="ce", tau=2.0, adjustment_smoothing=0.5)
    entries = strategy.adjustment.entries(torch.tensor([1, 0, 1]))
    assert entries.rows.tolist() == [0, 0, 1, 2, 2]
    assert entries.tails.tolist() == [0, 2, 0, 0, 2]
    one, three = 2 * math.log(1 + 1 / 0.5), 2 * math.log(1 + 3 / 0.5)
    assert entries.values.tolist() == pytest.approx([one, one, three, one, one])


def test_candidates_by_hand(make) -> None:
    strategy = make("logit-adjustment", loss="ce", tau=1.0)
    values = strategy.adjustment.at(torch.tensor([0, 1]), torch.tensor([[0, 1, 0], [2, 3, 1]]))
    expected = [[math.log(4), 0.0, math.log(4)], [math.log(2), 0.0, 0.0]]
    torch.testing.assert_close(values, torch.tensor(expected))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_training_sees_s_plus_tau_log_p(five, smoothing: float) -> None:
    """What is left out is equal for all tails: softmax does not see it."""
    relations, tau = torch.tensor([0, 1, 3]), 0.7
    chance = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 5, generator=chance, dtype=torch.double).requires_grad_()
    positives = Positives(torch.tensor([0, 1, 1, 2]), torch.tensor([0, 0, 2, 4]))
    softmax = Softmax(smoothing, 5)
    entries = LogPrior(five, tau, 1.0).entries(relations)
    loss = one_to_n_ce_scores(scores, positives, softmax, offsets=entries)
    prior = torch.stack([log_prior(five, int(r), 1.0) for r in relations])
    expected = one_to_n_ce_scores(scores + tau * prior, positives, softmax)
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)
    a, b = (torch.autograd.grad(x, scores)[0] for x in (loss, expected))
    torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_no_table_of_relations_by_entities(five) -> None:
    prior = LogPrior(five, 1.0, 1.0)
    assert len(prior._values) == len(prior._keys) == 8  # distinct (tail, relation) pairs
