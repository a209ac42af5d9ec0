"""Penalties on the vectors that a batch's positives use."""

from __future__ import annotations

import torch
from torch import Tensor


def n3(vectors: Tensor, counts: Tensor | None = None) -> Tensor:
    """Σ |x|³ over vectors (N, D), a scalar; ``counts`` (N,) is how often each counts."""
    return _weighted(vectors.abs().pow(3).sum(1), counts)


def l2(vectors: Tensor, counts: Tensor | None = None) -> Tensor:
    """Σ x² over vectors (N, D), a scalar; ``counts`` (N,) is how often each counts."""
    return _weighted(vectors.square().sum(1), counts)


def _weighted(values: Tensor, counts: Tensor | None) -> Tensor:
    if counts is None:
        return values.sum()
    return torch.dot(values, counts.to(values.dtype))
