"""Euclidean distances of many points to many others through matrix products, for training.

‖a - b‖² = ‖a‖² + ‖b‖² - 2ab takes a product where the direct way takes a pass over B x E x D
differences, and two more for the gradient. But what is left after the subtraction has the rounding
errors of what was there before: where two points lie close, compared with their distance from the
origin, the digits are gone. Such pairs are few, and their differences are taken directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

# A square that is a smaller share than this of ‖a‖² + ‖b‖² is taken directly: of float32's seven
# digits the others keep five.
_CLOSE = 1e-2
# Differences that are held at once.
_BLOCK = 2**22


class Euclidean(Function):
    """Distances (B, E) of points (B, D) to points (E, D); the gradient at distance 0 is 0."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, others: Tensor) -> Tensor:
        """Keeps the distances themselves for the way back."""
        sizes = points.square().sum(1, keepdim=True) + others.square().sum(1)  # (B, E)
        squares = torch.addmm(sizes, points, others.T, alpha=-2)
        rows, columns = (squares < _CLOSE * sizes).nonzero(as_tuple=True)
        distances = squares.clamp_(min=0).sqrt_()
        for row, column, difference in _differences(points, others, rows, columns):
            distances[row, column] = torch.linalg.vector_norm(difference, dim=1)
        ctx.save_for_backward(points, others, distances, rows, columns)
        return distances

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor]:
        """Σ w (a - b), w = upstream / distance: sums less products, and close pairs directly."""
        points, others, distances, rows, columns = ctx.saved_tensors
        weights = torch.where(distances > 0, upstream / distances, 0.0)
        close = weights[rows, columns].unsqueeze(1)
        weights[rows, columns] = 0
        by_points = (points * weights.sum(1, keepdim=True)).addmm_(weights, others, alpha=-1)
        by_others = (others * weights.sum(0).unsqueeze(1)).addmm_(weights.T, points, alpha=-1)
        start = 0
        for row, column, difference in _differences(points, others, rows, columns):
            pulled = difference.mul_(close[start : start + len(row)])
            by_points.index_add_(0, row, pulled)
            by_others.index_add_(0, column, pulled, alpha=-1)
            start += len(row)
        return by_points, by_others


def euclidean(points: Tensor, others: Tensor) -> Tensor:
    """Distances (B, E) in float32 or wider, whatever autocast says; see :class:`Euclidean`."""
    dtype = torch.promote_types(torch.promote_types(points.dtype, others.dtype), torch.float32)
    with torch.autocast(points.device.type, enabled=False):
        inputs = (points.to(dtype), others.to(dtype))
        distances: Tensor = Euclidean.apply(*inputs)  # type: ignore[no-untyped-call]
    return distances


def _differences(
    points: Tensor, others: Tensor, rows: Tensor, columns: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Pairs (n,) and (n,), block by block, with their differences (n, D)."""
    step = max(1, _BLOCK // max(1, points.shape[1]))
    for row, column in zip(torch.split(rows, step), torch.split(columns, step), strict=True):
        yield row, column, points.index_select(0, row) - others.index_select(0, column)
