"""Vectors times matrices that several of them share, with dropout on every one's own copy."""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.models.dropout import draw_mask


def masked_product(vectors: Tensor, matrices: Tensor, rows: Tensor | None, p: float) -> Tensor:
    """Products (B, D) of vectors (B, De) with the matrices (U, De, D) of their ``rows`` (B,).

    Every element of every vector's own copy of its matrix is dropped with probability ``p``.
    """
    own = matrices if rows is None else matrices.index_select(0, rows)
    if p > 0:
        own = own * draw_mask(own.shape, p, own)
    return torch.bmm(vectors.unsqueeze(1), own).squeeze(1)
