"""Products of complex vectors whose first half holds the real parts, the second the imaginary."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class _ComplexProduct(Function):
    """Writes products where they belong; halves put together by ``cat`` take twice the passes."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, conjugate: bool) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.conjugate = conjugate
        return _product(left, right, conjugate)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        left, right = ctx.saved_tensors
        by_left = by_right = None
        if ctx.needs_input_grad[0]:
            one, other = (upstream, right) if ctx.conjugate else (right, upstream)
            by_left = _product(one, other, conjugate=True)
        if ctx.needs_input_grad[1]:
            by_right = _product(left, upstream, conjugate=not ctx.conjugate)
        return by_left, by_right, None


def complex_product(left: Tensor, right: Tensor, *, conjugate: bool = False) -> Tensor:
    """Left times right (B, D), number by number; the conjugate of left if ``conjugate``."""
    product: Tensor = _ComplexProduct.apply(left, right, conjugate)  # type: ignore[no-untyped-call]
    return product


def _product(left: Tensor, right: Tensor, conjugate: bool) -> Tensor:
    product = torch.empty_like(right, dtype=torch.result_type(left, right))
    real, imaginary = product.chunk(2, dim=1)
    a, b = left.chunk(2, dim=1)
    c, d = right.chunk(2, dim=1)
    sign = 1 if conjugate else -1
    torch.mul(a, c, out=real).addcmul_(b, d, value=sign)
    torch.mul(a, d, out=imaginary).addcmul_(b, c, value=-sign)
    return product
