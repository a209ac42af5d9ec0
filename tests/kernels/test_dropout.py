"""Dropout from random bits."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.kernels.dropout import Dropout, draw_kept, draw_mask, keep_probability

CPU = torch.device("cpu")


@pytest.mark.parametrize("p", [0.1, 0.4, 0.5, 0.93])
def test_share_of_kept_elements(p):
    torch.manual_seed(1)
    kept = draw_kept((1000, 1001), p, CPU)
    assert set(kept.unique().tolist()) == {0, 1}
    # Five standard errors of a mean over a million draws.
    assert abs(float(kept.double().mean()) - (1 - p)) < 5 * (p * (1 - p) / 1_001_000) ** 0.5


def test_elements_are_independent():
    torch.manual_seed(2)
    kept = draw_kept((200_000, 4), 0.3, CPU).double()
    correlation = torch.corrcoef(kept.T)
    assert float((correlation - torch.eye(4)).abs().max()) < 0.012
    neighbours = torch.corrcoef(torch.stack([kept.flatten()[:-1], kept.flatten()[1:]]))
    assert abs(float(neighbours[0, 1])) < 0.006


def test_mask_scales_to_a_mean_of_one():
    torch.manual_seed(3)
    mask = draw_mask((1000, 1000), 0.25, torch.empty(0, dtype=torch.float64))
    assert mask.dtype == torch.float64
    assert mask.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert float(mask.mean()) == pytest.approx(1.0, abs=3e-3)


def test_tiny_and_huge_probabilities():
    assert draw_kept((100,), 1e-7, CPU).tolist() == [1] * 100
    assert keep_probability(0.9999999) == 2**-16
    assert draw_kept((0, 3), 0.5, CPU).shape == (0, 3)


def test_module_thins_only_in_training():
    dropout, values = Dropout(0.5), torch.ones(50, 50)
    assert set(dropout(values).unique().tolist()) == {0.0, 2.0}
    assert dropout.eval()(values) is values
    assert Dropout(0.0)(values) is values
    assert repr(dropout) == "Dropout(p=0.5)"


@pytest.mark.parametrize("p", [-0.1, 1.0, float("nan")])
def test_refuses_what_is_no_probability(p):
    with pytest.raises(ConfigError, match="at least 0 and below 1"):
        Dropout(p)
