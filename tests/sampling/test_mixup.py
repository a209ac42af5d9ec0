"""λ has the moments of a Beta, and mixing is a weighted mean whatever λ."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.sampling.mixup import draw_lambda, mix

N = 100_000


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_moments_are_those_of_beta(alpha: float) -> None:
    lam = draw_lambda(N, alpha, generator=generator()).double()
    variance = 1 / (4 * (2 * alpha + 1))
    # Fourth central moment of Beta(α, α), for the standard error of the variance.
    fourth = 3 / (16 * (2 * alpha + 1) * (2 * alpha + 3))

    assert lam.shape == (N,)
    assert float(lam.min()) >= 0
    assert float(lam.max()) <= 1
    assert abs(float(lam.mean()) - 0.5) < 4 * (variance / N) ** 0.5
    assert abs(float(lam.var()) - variance) < 4 * ((fourth - variance**2) / N) ** 0.5


def test_half_range_is_beta_given_at_least_a_half() -> None:
    lam = draw_lambda(N, 1.0, generator=generator(), lambda_range="half").double()

    assert float(lam.min()) >= 0.5
    assert float(lam.mean()) == pytest.approx(0.75, abs=4 * (1 / 48 / N) ** 0.5)  # uniform
    assert float(lam.var()) == pytest.approx(1 / 48, rel=0.02)


def test_fixed_draws_nothing() -> None:
    one, two = generator(), generator()

    assert draw_lambda(3, 1.0, generator=one, fixed=1).tolist() == [1.0, 1.0, 1.0]
    assert torch.equal(one.get_state(), two.get_state())


def test_the_generator_decides_and_its_draws_do_not_repeat() -> None:
    draws = [draw_lambda(5, 0.3, generator=generator(seed)) for seed in (1, 1, 2)]

    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert draws[0].dtype == torch.float32
    assert draw_lambda(0, 1.0, generator=generator()).shape == (0,)
    one = generator()
    drawn = torch.cat([draw_lambda(1, 1.0, generator=one) for _ in range(500)])
    assert len(drawn.unique()) == 500


def test_mix_by_hand() -> None:
    first, second = torch.tensor([[1.0, 2.0]] * 4), torch.tensor([[5.0, 10.0]] * 4)

    mixed = mix(first, second, torch.tensor([1.0, 0.0, 0.25, 1.5]))

    assert mixed.tolist() == [[1.0, 2.0], [5.0, 10.0], [4.0, 8.0], [-1.0, -2.0]]


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_refuses_alpha_and_another_range(alpha: float) -> None:
    with pytest.raises(ConfigError, match=r"strategy\.alpha"):
        draw_lambda(1, alpha, generator=generator())
    with pytest.raises(ConfigError, match="lambda_range is 'third'"):
        draw_lambda(1, 1.0, generator=generator(), lambda_range="third")
