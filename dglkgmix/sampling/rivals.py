"""Sampled entities that replace all of them in the softmax of synthetic samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Rivals:
    """C entities of which each stands for a number of them: Σ_c count_c exp(s_c) ≈ Σ_v exp(s_v).

    Attributes:
        ids: (C,) long, distinct, ascending.
        log_counts: (C,) float, the logarithm of how many entities each stands for.
    """

    ids: Tensor
    log_counts: Tensor

    def places(self, tails: Tensor) -> Tensor:
        """Where tails (S,) are among ``ids``, (S,)."""
        return torch.searchsorted(self.ids, tails.contiguous())


def draw_rivals(
    tails: Tensor, num_entities: int, count: int, chance: np.random.Generator
) -> Rivals | None:
    """The distinct ``tails`` (S,), which stand for themselves, and ``count`` of the others.

    These are drawn uniformly and without replacement, and stand for all others: the sum over the
    rivals has the sum over all entities as its mean. None where no more are left: take all.
    """
    own = tails.unique()  # type: ignore[no-untyped-call]
    others = num_entities - len(own)
    if count >= others:
        return None
    places = torch.from_numpy(chance.choice(others, count, replace=False, shuffle=False))
    # The i-th entity that is no tail: i, and as many more as there are tails before it.
    drawn = places + torch.searchsorted(own - torch.arange(len(own)), places, right=True)
    counts = torch.ones(len(own) + count)
    counts[len(own) :] = others / count
    ids, order = torch.cat([own, drawn]).sort()
    return Rivals(ids, counts.log()[order])
