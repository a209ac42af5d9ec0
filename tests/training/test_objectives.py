"""Both losses behind one face."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.config import TrainingConfig
from dglkgmix.errors import ConfigError
from dglkgmix.kernels.one_to_n import one_to_n_bce_scores, one_to_n_ce_scores
from dglkgmix.kernels.table import Table
from dglkgmix.losses.one_to_k import one_to_k_bce, one_to_k_ce, synthetic_bce
from dglkgmix.losses.pointwise import Focus, bce_terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Offsets, Positives, Targets
from dglkgmix.training.objectives import objective

POSITIVES = Positives(torch.tensor([0, 1, 1]), torch.tensor([3, 0, 2]))
NOTHING = Offsets(torch.tensor([0]), torch.tensor([0]), torch.tensor([0.0]))
BINARY = TrainingConfig(loss="bce", label_smoothing=0.1)
SOFTMAX = TrainingConfig(loss="ce", label_smoothing=0.1)


@pytest.fixture
def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    chance = torch.Generator().manual_seed(0)
    query, entities = torch.randn(2, 3, generator=chance), torch.randn(5, 3, generator=chance)
    return query, entities, torch.randn(5, generator=chance)


@pytest.mark.parametrize("focus", [None, Focus(2.0)])
def test_binary(inputs, focus) -> None:
    loss, terms = objective(BINARY, focus, 5), bce_terms(Targets.smoothed(0.1, "auto", 5), focus)
    query, entities, bias = inputs
    tabled = (query, Table(entities), bias)
    scores = query @ entities.T + bias
    mask = torch.tensor([[True, False, True, True], [True] * 4])
    expected = one_to_n_bce_scores(scores, POSITIVES, terms)
    torch.testing.assert_close(loss.of_products(*tabled, POSITIVES), expected)
    torch.testing.assert_close(loss.of_scores(scores, POSITIVES), expected)
    torch.testing.assert_close(
        loss.of_candidates(scores, mask, weights=None),
        one_to_k_bce(scores[:, 0], scores[:, 1:], mask, terms),
    )
    torch.testing.assert_close(loss.of_synthetic(bias), synthetic_bce(bias, terms))
    assert loss.one_sided


@pytest.mark.parametrize("focus", [None, Focus(2.0)])
def test_softmax(inputs, focus) -> None:
    loss, softmax = objective(SOFTMAX, focus, 5), Softmax(0.1, 5, focus)
    query, entities, bias = inputs
    tabled = (query, Table(entities), bias)
    scores = query @ entities.T + bias
    mask = torch.tensor([[True, False, True, True], [True] * 4])
    expected = one_to_n_ce_scores(scores, POSITIVES, softmax)
    for offsets in (None, NOTHING):
        mine = loss.of_products(*tabled, POSITIVES, offsets=offsets)
        torch.testing.assert_close(mine, expected)
        torch.testing.assert_close(loss.of_scores(scores, POSITIVES, offsets=offsets), expected)
    torch.testing.assert_close(
        loss.of_candidates(scores, mask, weights=None),
        one_to_k_ce(scores[:, 0], scores[:, 1:], mask, softmax),
    )
    assert not loss.one_sided


def test_what_a_loss_cannot_do_is_refused(inputs) -> None:
    binary, softmax = objective(BINARY, None, 5), objective(SOFTMAX, None, 5)
    query, entities, bias = inputs
    tabled = (query, Table(entities), bias)
    with pytest.raises(ConfigError, match="softmax"):
        binary.of_products(*tabled, POSITIVES, offsets=NOTHING)
    with pytest.raises(ConfigError, match="softmax"):
        binary.of_scores(torch.zeros(2, 5), POSITIVES, offsets=NOTHING)
    with pytest.raises(TypeError, match="candidates"):
        softmax.of_synthetic(torch.zeros(2))


@pytest.mark.parametrize("loss", ["bce", "ce"])
def test_a_mass_that_does_not_fit_is_refused(loss: str) -> None:
    training = TrainingConfig(loss=loss, label_smoothing=0.1, smoothing_mass=1.0)
    with pytest.raises(ConfigError, match="smoothing_mass"):
        objective(training, None, 5)
