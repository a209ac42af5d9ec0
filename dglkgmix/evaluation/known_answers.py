"""How many known answers stand above an answer: what filtering takes off its rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.evaluation.grouping import Pairs

if TYPE_CHECKING:
    from dglkgmix.kg.index import TripleIndex

# Pairs of query and known answer that are looked at together.
PAIRS = 2**21


class KnownAnswers:
    """The known answers of a block of pairs, by row of the block."""

    def __init__(self, known: TripleIndex, pairs: Pairs) -> None:
        self.rows, self.tails = known.tails_of(pairs.heads, pairs.relations)
        self.queries, self.row_of = pairs.queries, pairs.rows
        self.num_rows = len(pairs)

    def count(
        self, scores: Tensor, start: int, target: Tensor, matches: SameType | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Known answers in one slice of the entities, the query's own answer among them.

        Args:
            scores: (rows, width) of the slice.
            start: its first entity.
            target: (n,) score of the answer of each of the block's queries.
            matches: tells which known answers are of the node type of a query's answer.

        Returns:
            (n,) each: those that score above the answer, those at least as high, and all.
        """
        inside = (self.tails >= start) & (self.tails < start + scores.shape[1])
        rows, tails = self.rows[inside], self.tails[inside]
        at = (rows.to(scores.device), (tails - start).to(scores.device))
        values = scores[at].cpu()
        bounds = torch.searchsorted(rows, torch.arange(self.num_rows + 1))
        lengths = bounds.diff()[self.row_of]
        found = torch.zeros((3, len(self.queries)), dtype=torch.long)
        for span in _spans(lengths):
            query, position = _expand(bounds[self.row_of[span]], lengths[span])
            if matches is not None:
                keep = matches(self.queries[span][query], tails[position])
                query, position = query[keep], position[keep]
            value, bar = values[position], target[span][query]
            for out, chosen in zip(
                found, (query[value > bar], query[value >= bar], query), strict=True
            ):
                out[span] = torch.bincount(chosen, minlength=len(lengths[span]))
        return found[0], found[1], found[2]


class SameType:
    """Whether an entity is of the node type of a query's answer."""

    def __init__(self, types: Tensor, answers: Tensor) -> None:
        self.types, self.own = types, types[answers]

    def __call__(self, queries: Tensor, entities: Tensor) -> Tensor:
        """(n,) bool, of (n,) queries and entities."""
        return self.own[queries] == self.types[entities]


def _spans(lengths: Tensor) -> Iterator[slice]:
    """Runs of queries with about ``PAIRS`` known answers together; one query is never cut."""
    chunk = (lengths.cumsum(0) - lengths) // PAIRS
    ends = [*(chunk.diff().nonzero()[:, 0] + 1).tolist(), len(lengths)]
    start = 0
    for end in ends:
        yield slice(start, end)
        start = end


def _expand(firsts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Every position of runs ``firsts[i] … firsts[i] + lengths[i] − 1``, with its i."""
    run = torch.repeat_interleave(lengths)
    return run, torch.arange(len(run)) + (firsts - (lengths.cumsum(0) - lengths))[run]
