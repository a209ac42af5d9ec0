"""How many known answers stand above an answer: what filtering takes off its rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.evaluation.grouping import Pairs

if TYPE_CHECKING:
    from dglkgmix.kg.index import TripleIndex


class KnownAnswers:
    """The known answers of a block of pairs, sorted so that each query finds its own by halving.

    Args:
        known: every known triple.
        pairs: the block.
    """

    def __init__(self, known: TripleIndex, pairs: Pairs) -> None:
        self.rows, self.tails = known.tails_of(pairs.heads, pairs.relations)
        self.asked = pairs.rows

    def count(self, scores: Tensor, start: int, target: Tensor) -> tuple[Tensor, Tensor]:
        """Known answers in one slice of the entities, the query's own answer among them.

        Args:
            scores: (rows, width) of the slice.
            start: its first entity.
            target: (Q,) score of the answer of each query.

        Returns:
            (Q,) each: those that score above the answer, and those at least as high.
        """
        inside = (self.tails >= start) & (self.tails < start + scores.shape[1])
        at = self.rows[inside], self.tails[inside] - start
        values, groups = scores[tuple(i.to(scores.device) for i in at)].cpu(), self.rows[inside]
        by_value = values.argsort()
        order = by_value[groups[by_value].argsort(stable=True)]
        values, groups = values[order], groups[order]
        first = torch.searchsorted(groups, self.asked)
        last = torch.searchsorted(groups, self.asked, right=True)
        above = last - _insertion(values, first, last, target, right=True)
        at_least = last - _insertion(values, first, last, target, right=False)
        return above, at_least


def _insertion(values: Tensor, low: Tensor, high: Tensor, bar: Tensor, *, right: bool) -> Tensor:
    """Where each bar belongs in its own ascending run ``values[low:high]``; as in searchsorted."""
    while bool((low < high).any()):
        middle = (low + high) // 2
        value = values[middle.clamp(max=len(values) - 1)]
        below = value <= bar if right else value < bar
        # A run of length 0 has found its place: middle is low there, and must stay.
        unfinished = low < high
        low = torch.where(unfinished & below, middle + 1, low)
        high = torch.where(unfinished & ~below, middle, high)
    return low
