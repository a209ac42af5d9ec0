"""Vectors times matrices that several of them share, with dropout on every one's own copy.

The copies (B, De, D) are the cost of TuckER. They are made once, thinned in place by the random
bits themselves, and kept for the gradient; nothing else of that size lives longer than a step.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dglkgmix.kernels.dropout import draw_kept, keep_probability
from dglkgmix.kernels.segments import segment_product


class _MaskedProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, vectors: Tensor, matrices: Tensor, rows: Tensor | None, p: float
    ) -> Tensor:
        own = matrices.clone() if rows is None else matrices.index_select(0, rows)  # (B, De, D)
        kept = draw_kept(own.shape, p, own.device)
        own.mul_(kept)
        scale = 1.0 / keep_probability(p)
        scaled = vectors.to(own.dtype) * scale
        ctx.save_for_backward(scaled, own, kept, rows)
        ctx.scale, ctx.count = scale, len(matrices)
        return torch.bmm(scaled.unsqueeze(1), own).squeeze(1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        scaled, own, kept, rows = ctx.saved_tensors
        # The row vector on the left: several times faster than own @ gradient.
        to_vectors = torch.bmm(gradient.unsqueeze(1), own.mT).squeeze(1) * ctx.scale
        to_own = (scaled.unsqueeze(2) * gradient.unsqueeze(1)).mul_(kept)  # (B, De, D)
        if rows is None:
            return to_vectors, to_own, None, None
        to_matrices = to_own.new_zeros(ctx.count, *to_own.shape[1:])
        return to_vectors, to_matrices.index_add_(0, rows, to_own), None, None


def masked_product(vectors: Tensor, matrices: Tensor, rows: Tensor | None, p: float) -> Tensor:
    """Products (B, D) of vectors (B, De) with matrices (U, De, D).

    Args:
        vectors: (B, De).
        matrices: (U, De, D).
        rows: (B,) the matrix of each vector; None where U = B and each has its own.
        p: probability with which each element of each vector's own copy of its matrix is dropped,
            the others being scaled by 1 / (1 - p).
    """
    if p > 0:
        product: Tensor = _MaskedProduct.apply(vectors, matrices, rows, p)  # type: ignore[no-untyped-call]
        return product
    if rows is None:
        return torch.bmm(vectors.unsqueeze(1), matrices).squeeze(1)
    # One product for each matrix, of all the vectors that share it.
    order = rows.argsort()
    sizes = rows.bincount(minlength=len(matrices)).tolist()
    products = segment_product(vectors.index_select(0, order), matrices.unsqueeze(1), sizes)
    return products.index_select(0, order.argsort())
