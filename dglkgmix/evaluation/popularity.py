"""A baseline: entities ranked by popularity, their tail-relation degree, alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.kg.keys import expand

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


def better_bins(
    popular: Mapping[str, Mapping[str, Any]], own: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    """Popularity's MRR in the bins where it is above a model's; figures of both by bin."""
    return {
        name: found["mrr"]
        for name, found in popular.items()
        if found["queries"] and found["mrr"] > own[name]["mrr"]
    }


class PopularityScorer:
    """Scores (h, r, t) with d_tail(t, r): how often t answers r, whatever h is.

    Counts are exact in float32, so that entities of equal degree tie.
    """

    def __init__(self, kg: KnowledgeGraph) -> None:
        self.num_entities = kg.num_entities
        self._degrees = kg.degrees
        self._keys, self._counts = kg.degrees.pair_keys, kg.degrees.pair_degrees.float()

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
        row, pair = expand(first, last - first)
        table[row, self._keys[pair] % self.num_entities - start] = self._counts[pair]
        return table[rows]

    def gather(self, query: Tensor, candidates: Tensor) -> Tensor:
        """(B, K) degrees of given candidates."""
        return self._degrees.tail_relation(candidates, query[:, None]).float()
