"""Dropout from random bits: PyTorch's, several times cheaper on the CPU.

PyTorch spends a whole random number, and a slow conversion, on every element. Sixteen bits are
enough to drop an element with a probability that is right to 2⁻¹⁷; the survivors are scaled by
the probability actually used, so that the mean stays exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dglkgmix.errors import ConfigError

LEVELS = 2**16


def keep_probability(p: float) -> float:
    """The share of elements that dropout with probability ``p`` < 1 keeps, as 16 bits allow it."""
    return max(LEVELS - round(p * LEVELS), 1) / LEVELS


def draw_kept(shape: Sequence[int], p: float, device: torch.device) -> Tensor:
    """1 with the probability that ``keep_probability(p)`` tells, else 0: int16 of ``shape``.

    Every element is drawn on its own, from PyTorch's global generator of the device.
    """
    bits = torch.empty((math.prod(shape) + 3) // 4, dtype=torch.int64, device=device)
    bits.random_(torch.iinfo(torch.int64).min, None)
    values = bits.view(torch.int16)[: math.prod(shape)].view(*shape)
    bound = round(keep_probability(p) * LEVELS) - LEVELS // 2
    if bound == LEVELS // 2:  # p is below what 16 bits can tell from 0
        return values.fill_(1)
    # 1 below the bound, else 0; a comparison would cost ten times as much.
    return values.clamp_(bound - 1, bound).neg_().add_(bound)


def draw_mask(shape: Sequence[int], p: float, like: Tensor) -> Tensor:
    """A fresh mask of ``shape``: 0 with probability ``p``, else 1 / (1 - p), independently.

    It has the dtype and device of ``like``.
    """
    return draw_kept(shape, p, like.device).to(like.dtype).mul_(1.0 / keep_probability(p))


class Dropout(nn.Module):
    """Each element is dropped with probability ``p`` in training.

    The others are scaled to keep the mean; nothing happens in eval mode.

    Raises:
        ConfigError: ``p`` is not in [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ConfigError(f"a dropout is {p}: it must be at least 0 and below 1")
        self.p = p

    @property
    def active(self) -> bool:
        """Whether a pass now would drop anything."""
        return self.training and self.p > 0

    def forward(self, values: Tensor) -> Tensor:
        """Thin values of any shape."""
        if not self.active:
            return values
        return values * draw_mask(values.shape, self.p, values)

    def extra_repr(self) -> str:
        """What ``print`` shows of it."""
        return f"p={self.p}"
