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
        answers: (Q,) answers of the block's queries.
        types: (E,) node types; known answers of another type than the query's do not count.
    """

    def __init__(
        self, known: TripleIndex, pairs: Pairs, answers: Tensor, types: Tensor | None
    ) -> None:
        self.rows, self.tails = known.tails_of(pairs.heads, pairs.relations)
        self.groups, self.asked = self.rows, pairs.rows
        if types is not None:
            kinds = int(types.max()) + 1
            self.groups = self.rows * kinds + types[self.tails]
            self.asked = pairs.rows * kinds + types[answers]

    def count(self, scores: Tensor, start: int, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Known answers in one slice of the entities, the query's own answer among them.

        Args:
            scores: (rows, width) of the slice.
            start: its first entity.
            target: (Q,) score of the answer of each query.

        Returns:
            (Q,) each: those that score above the answer, those at least as high, and all.
        """
        inside = (self.tails >= start) & (self.tails < start + scores.shape[1])
        at = self.rows[inside], self.tails[inside] - start
        values, groups = scores[tuple(i.to(scores.device) for i in at)].cpu(), self.groups[inside]
        by_value = values.argsort()
        order = by_value[groups[by_value].argsort(stable=True)]
        values, groups = values[order], groups[order]
        first = torch.searchsorted(groups, self.asked)
        last = torch.searchsorted(groups, self.asked, right=True)
        above = last - _insertion(values, first, last, target, right=True)
        at_least = last - _insertion(values, first, last, target, right=False)
        return above, at_least, last - first


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
