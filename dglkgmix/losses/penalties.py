"""Penalties on the vectors that a batch's positives use.

They take squared moduli: for real vectors the squares of their numbers, for ComplEx those of the
complex numbers, as its N3 is defined (Lacroix et al., 2018).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def n3(squares: Tensor, counts: Tensor) -> Tensor:
    """Σ |x|³ from squared moduli (N, D), a scalar; ``counts`` (N,) is how often a row counts."""
    cubes: Tensor = _Cubes.apply(squares)  # type: ignore[no-untyped-call]
    return torch.dot(cubes, counts.to(cubes.dtype))


def l2(squares: Tensor, counts: Tensor) -> Tensor:
    """Σ |x|² from squared moduli (N, D), a scalar; ``counts`` (N,) is how often a row counts."""
    return torch.dot(squares.sum(1), counts.to(squares.dtype))


class _Cubes(Function):
    """``squares.pow(1.5).sum(1)`` by one square root, which its gradient takes, too."""

    @staticmethod
    def forward(ctx: Any, squares: Tensor) -> Tensor:
        moduli = squares.sqrt()
        ctx.save_for_backward(moduli)
        return (squares * moduli).sum(1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        moduli: Tensor = ctx.saved_tensors[0]
        return moduli * (1.5 * upstream).unsqueeze(1)
