"""Sums over the rows of all processes, with the gradients that flow back to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from dglkgmix.world import World


@dataclass(frozen=True, eq=False)
class Pool:
    """A batch of several processes, in sums.

    Attributes:
        means: (C,) float64, sums over all rows divided by their count.
        unbiased: scalar, count / (count - 1).
        several: whether there is more than one row.
    """

    means: Tensor
    unbiased: Tensor
    several: bool


def pooled(world: World, sums: Tensor, *, rows: int, count: int) -> Pool:
    """What all processes give, as one batch.

    Args:
        world: the processes; all of them must call.
        sums: (C,) float64, over this process's rows.
        rows: how many these are; 0 is allowed.
        count: what ``sums`` are sums of: rows, times positions where a row has several.
    """
    own = torch.tensor([rows, count], dtype=sums.dtype, device=sums.device)
    total: Tensor = _Sum.apply(torch.cat([sums, own]), world)  # type: ignore[no-untyped-call]
    # Reading the number would make a GPU wait; whoever has two rows needs not.
    several = rows > 1 or bool(total[-2] > 1)
    everywhere = total[-1].detach()
    return Pool(total[:-2] / everywhere, everywhere / (everywhere - 1), several)


class _Sum(Function):
    """The sum of a tensor over processes; all of their losses depend on each one's tensor."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, world: World) -> Tensor:
        ctx.world = world
        total = values.clone()
        world.add_up(total)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        total = gradient.clone()
        ctx.world.add_up(total)
        return total, None
