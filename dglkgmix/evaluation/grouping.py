"""Queries gathered by their (head, relation) pair, so that each pair is scored once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.evaluation.queries import EvalQueries


@dataclass(frozen=True)
class Pairs:
    """Some of the distinct (head, relation) pairs, those with most answers first; U of them.

    ``order[starts[u] : starts[u] + counts[u]]`` are the queries of pair u. As numbers of answers
    descend, the pairs with more than j answers are a prefix.
    """

    heads: Tensor
    relations: Tensor
    counts: Tensor
    starts: Tensor
    order: Tensor

    @classmethod
    def group(cls, queries: EvalQueries) -> Pairs:
        """All pairs of some queries."""
        stride = int(queries.heads.max()) + 1 if len(queries) else 1
        keys, inverse, counts = torch.unique(
            queries.relations * stride + queries.heads, return_inverse=True, return_counts=True
        )
        by_count = torch.argsort(counts, descending=True, stable=True)
        position = torch.empty_like(by_count)
        position[by_count] = torch.arange(len(by_count))
        counts, keys = counts[by_count], keys[by_count]
        return cls(
            heads=keys % stride,
            relations=keys // stride,
            counts=counts,
            starts=counts.cumsum(0) - counts,
            order=torch.argsort(position[inverse], stable=True),
        )

    def __len__(self) -> int:
        return len(self.heads)

    def blocks(self, rows: int) -> Iterator[Pairs]:
        """Runs of at most ``rows`` pairs."""
        for first in range(0, len(self), rows):
            s = slice(first, first + rows)
            yield Pairs(
                self.heads[s], self.relations[s], self.counts[s], self.starts[s], self.order
            )

    @property
    def queries(self) -> Tensor:
        """(Q,) every query of these pairs, pair by pair; Q = Σ counts."""
        return self.order[int(self.starts[0]) : int(self.starts[-1] + self.counts[-1])]

    @property
    def rows(self) -> Tensor:
        """(Q,) the pair of each of :attr:`queries`."""
        return torch.repeat_interleave(self.counts)

    def rounds(self) -> Iterator[Tensor]:
        """The j-th query of each pair that has one, for j = 0, 1, …: (n,), of the first n pairs."""
        for j in range(int(self.counts[0])):
            yield self.order[self.starts[: int((self.counts > j).sum())] + j]
