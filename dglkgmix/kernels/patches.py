"""The patches a convolution looks at, and their moments, with cheap gradients.

PyTorch's ``unfold`` does the first of these, at four times the cost for a single channel.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _Patches(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, kernel: int) -> Tensor:
        ctx.kernel, ctx.shape = kernel, x.shape
        height, width = x.shape[1] - kernel + 1, x.shape[2] - kernel + 1
        windows = x.unfold(1, height, 1).unfold(2, width, 1)
        return windows.reshape(len(x), kernel * kernel, height * width)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        kernel, (batch, rows, columns) = ctx.kernel, ctx.shape
        height, width = rows - kernel + 1, columns - kernel + 1
        parts = gradient.view(batch, kernel, kernel, height, width)
        total = gradient.new_zeros(ctx.shape)
        for i in range(kernel):
            for j in range(kernel):
                total[:, i : i + height, j : j + width] += parts[:, i, j]
        return total, None


class _Moments(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, patches: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(patches)
        ctx.count = max(patches.shape[0] * patches.shape[2], 1)
        if len(patches) == 0:  # a process without a row of its own
            size = patches.shape[1]
            return patches.new_zeros(size), patches.new_zeros(size, size)
        return patches.mean((0, 2)), torch.bmm(patches, patches.mT).sum(0) / ctx.count

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> Tensor:
        (patches,) = ctx.saved_tensors
        weight = ((second + second.T) / ctx.count).expand(patches.shape[0], -1, -1)
        return torch.baddbmm((first / ctx.count).unsqueeze(1), weight, patches)


def patches_of(x: Tensor, kernel: int) -> Tensor:
    """Patches (B, kernel², L) of pictures (B, H, W): L = (H - kernel + 1) (W - kernel + 1)."""
    patches: Tensor = _Patches.apply(x, kernel)  # type: ignore[no-untyped-call]
    return patches


def moments_of(patches: Tensor) -> tuple[Tensor, Tensor]:
    """Mean (C,) of the columns of patches (B, C, L), and the mean (C, C) of their products."""
    first, second = _Moments.apply(patches)  # type: ignore[no-untyped-call]
    return first, second
