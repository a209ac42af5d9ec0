"""λ, and vectors mixed with it (Shomer et al., 2023, 4.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from dglkgmix.errors import ConfigError


def draw_lambda(
    n: int,
    alpha: float,
    *,
    generator: torch.Generator,
    lambda_range: Literal["full", "half"] = "full",
    fixed: float | None = None,
) -> Tensor:
    """λ (n,) for n synthetic samples, independently from Beta(α, α).

    Args:
        n: number of samples; 0 gives an empty tensor.
        alpha: α, above 0.
        generator: a CPU generator; one seed is drawn from it, for any number of λ.
        lambda_range: "half" restricts λ to [½, 1]: as Beta(α, α) is symmetric, that is
            max(λ, 1 - λ).
        fixed: every λ is this value and nothing is drawn; 1 is plain over-sampling.

    Raises:
        ConfigError: α is not a positive number, or the range has another name.
    """
    if fixed is not None:
        return torch.full((n,), float(fixed))
    if not 0 < alpha < float("inf"):
        raise ConfigError(f"strategy.alpha is {alpha}: it must be a number above 0")
    if lambda_range not in ("full", "half"):
        raise ConfigError(f"strategy.lambda_range is {lambda_range!r}: use 'full' or 'half'")
    seed = torch.randint(2**63 - 1, (), generator=generator).item()
    drawn = torch.from_numpy(np.random.Generator(np.random.PCG64(int(seed))).beta(alpha, alpha, n))
    if lambda_range == "half":
        drawn = torch.maximum(drawn, 1 - drawn)
    return drawn.to(torch.get_default_dtype())


def mix(first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    """λ · first + (1 - λ) · second, row by row: (S, D), (S, D), (S,) to (S, D).

    λ may be any number: the configuration checks its range.
    """
    return torch.lerp(second, first, lam.to(first).unsqueeze(1))
