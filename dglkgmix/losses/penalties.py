"""Penalties on the vectors that a batch's positives use.

They take squared moduli: for real vectors the squares of their numbers, for ComplEx those of the
complex numbers, as its N3 is defined (Lacroix et al., 2018).
"""

from __future__ import annotations

import torch
from torch import Tensor


def n3(squares: Tensor, counts: Tensor | None = None) -> Tensor:
    """Σ |x|³ from squared moduli (N, D), a scalar; ``counts`` (N,) is how often a row counts."""
    return _weighted(squares.pow(1.5).sum(1), counts)


def l2(squares: Tensor, counts: Tensor | None = None) -> Tensor:
    """Σ |x|² from squared moduli (N, D), a scalar; ``counts`` (N,) is how often a row counts."""
    return _weighted(squares.sum(1), counts)


def _weighted(values: Tensor, counts: Tensor | None) -> Tensor:
    if counts is None:
        return values.sum()
    return torch.dot(values, counts.to(values.dtype))
