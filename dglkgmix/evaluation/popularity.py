"""The yardstick that every model must beat: it knows degrees and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


class PopularityScorer:
    """Scores (h, r, t) with d_tail(t, r): how often t answers r, whatever h is.

    Counts are exact in float32, so that entities of equal degree tie.
    """

    def __init__(self, kg: KnowledgeGraph) -> None:
        self.num_entities = kg.num_entities
        keys = kg.edges[:, 1] * self.num_entities + kg.edges[:, 2]
        self._keys, counts = torch.unique(keys, return_counts=True)  # (r, t) pairs, ascending
        self._counts = counts.float()

    def query(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B,) the relations, which are all that counts."""
        return relations.broadcast_to(heads.shape)

    def scores(self, query: Tensor, start: int, stop: int) -> Tensor:
        """(B, stop - start) degrees of a slice of the entities."""
        distinct, rows = torch.unique(query, return_inverse=True)
        table = torch.zeros(len(distinct), stop - start)
        first, last = (
            torch.searchsorted(self._keys, distinct * self.num_entities + bound)
            for bound in (start, stop)
        )
        lengths = last - first
        row = torch.repeat_interleave(lengths)
        pair = torch.arange(len(row)) - (lengths.cumsum(0) - lengths - first)[row]
        table[row, self._keys[pair] % self.num_entities - start] = self._counts[pair]
        return table[rows]

    def gather(self, query: Tensor, candidates: Tensor) -> Tensor:
        """(B, K) degrees of given candidates."""
        wanted = query[:, None] * self.num_entities + candidates
        at = torch.searchsorted(self._keys, wanted).clamp(max=len(self._keys) - 1)
        return torch.where(self._keys[at] == wanted, self._counts[at], 0.0)
