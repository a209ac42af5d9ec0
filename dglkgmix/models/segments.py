"""Rows that come in runs, each run multiplied with a matrix of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor


class _SegmentProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, matrices: Tensor, sizes: Sequence[int]) -> Tensor:
        ctx.save_for_backward(values, matrices)
        ctx.sizes = sizes
        product = values.new_empty(len(values), matrices.shape[1], matrices.shape[3])
        for u, part, target in _runs(sizes, values, product):
            torch.bmm(part, matrices[u], out=target)
        return product

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        values, matrices = ctx.saved_tensors
        to_values, to_matrices = torch.empty_like(values), torch.zeros_like(matrices)
        for u, part, outer, target in _runs(ctx.sizes, values, gradient, to_values):
            torch.bmm(outer, matrices[u].mT, out=target)
            torch.bmm(part.mT, outer, out=to_matrices[u])
        return to_values, to_matrices, None


def _runs(sizes: Sequence[int], *tensors: Tensor) -> Iterator[tuple[Any, ...]]:
    """(u, run u of each tensor as (G, n, D)) for every run that is not empty."""
    start = 0
    for u, size in enumerate(sizes):
        if size:
            yield (u, *(tensor.narrow(0, start, size).transpose(0, 1) for tensor in tensors))
        start += size


def segment_product(values: Tensor, matrices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Rows (N, C) times the block-diagonal matrix of their run: (N, G · D₂).

    Args:
        values: N rows, those of run 0 first, with C = G · D₁ columns.
        matrices: (U, G, D₁, D₂), the G diagonal blocks of each run's matrix.
        sizes: U lengths of the runs, N in all.
    """
    blocks = values.to(matrices.dtype).view(len(values), *matrices.shape[1:3])  # (N, G, D₁)
    product: Tensor = _SegmentProduct.apply(blocks, matrices, sizes)  # type: ignore[no-untyped-call]
    return product.view(len(values), matrices.shape[1] * matrices.shape[3])
