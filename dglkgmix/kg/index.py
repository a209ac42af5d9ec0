"""Which tails a query has: a sparse table that batches, filters and counts look things up in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from dglkgmix.kg.keys import as_ids, broadcast, expand, find, triple_keys


@dataclass(frozen=True, eq=False)
class TripleIndex:
    """Distinct triples by query: row q holds the tails of query (heads[q], relations[q]).

    Attributes:
        heads, relations: (Q,) long, the distinct queries in ascending (head, relation) order.
        indptr: (Q + 1,) long; the tails of row q are ``tails[indptr[q]:indptr[q + 1]]``.
        tails: (N,) long, distinct and ascending within a row.
        num_entities, num_relations: bounds of the ids.
    """

    heads: Tensor
    relations: Tensor
    indptr: Tensor
    tails: Tensor
    num_entities: int
    num_relations: int

    @classmethod
    def build(cls, triples: Tensor, num_entities: int, num_relations: int) -> TripleIndex:
        """From (N, 3) ids, in any order and with any duplicates."""
        _, order = torch.sort(triple_keys(triples, num_entities, num_relations))
        ordered = triples[order]
        fresh = torch.ones(len(ordered), dtype=torch.bool)
        fresh[1:] = (ordered[1:] != ordered[:-1]).any(1)
        heads, relations, tails = ordered[fresh].unbind(1)
        starts = torch.ones(len(heads), dtype=torch.bool)
        starts[1:] = (heads[1:] != heads[:-1]) | (relations[1:] != relations[:-1])
        indptr = torch.cat([starts.nonzero().flatten(), torch.tensor([len(heads)])])
        columns = heads[starts], relations[starts], indptr, tails.contiguous()
        return cls(*columns, num_entities, num_relations)

    def __len__(self) -> int:
        """Number Q of distinct queries."""
        return len(self.heads)

    def locate(self, heads: Any, relations: Any) -> Tensor:
        """Rows of queries (heads[b], relations[b]), same shape, long; -1 where there is none.

        Raises:
            OutOfRangeError: an id outside the graph.
        """
        heads = as_ids(heads, "entity", self.num_entities)
        relations = as_ids(relations, "relation", self.num_relations)
        heads, relations = broadcast(heads, relations)
        return find(self._query_keys, heads * self.num_relations + relations)

    def tails_of(self, heads: Any, relations: Any) -> tuple[Tensor, Tensor]:
        """Every known tail of a batch of B queries.

        Returns:
            rows: (P,) long, ascending positions 0..B-1 in the batch.
            tails: (P,) long, ascending within a row.
        """
        at = self.locate(heads, relations)
        begin = self.indptr[at.clamp(min=0)]
        counts = torch.where(at < 0, 0, self.indptr[at + 1] - begin)
        rows, positions = expand(begin, counts)
        return rows, self.tails[positions]

    def triples_of(self, heads: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Every triple of a batch of B heads.

        Returns:
            rows: (P,) long, ascending positions 0..B-1 in the batch.
            relations, tails: (P,) long, ascending within a row.
        """
        heads = as_ids(heads, "entity", self.num_entities)
        begin = self.indptr[torch.searchsorted(self.heads, heads)]
        end = self.indptr[torch.searchsorted(self.heads, heads, right=True)]
        rows, positions = expand(begin, end - begin)
        queries = torch.searchsorted(self.indptr, positions, right=True) - 1
        return rows, self.relations[queries], self.tails[positions]

    def contains(self, heads: Any, relations: Any, tails: Any) -> Tensor:
        """Whether (heads, relations, tails) are known; shapes broadcast, the result is bool."""
        tails = as_ids(tails, "entity", self.num_entities)
        rows, tails = broadcast(self.locate(heads, relations), tails)
        found = find(self._tail_keys, rows.clamp(min=0) * self.num_entities + tails)
        known: Tensor = (found >= 0) & (rows >= 0)
        return known

    @cached_property
    def _query_keys(self) -> Tensor:
        return self.heads * self.num_relations + self.relations

    @cached_property
    def _tail_keys(self) -> Tensor:
        """(N,) ascending: a tail together with its row, which fit into 63 bits where N * E does."""
        rows = torch.repeat_interleave(torch.arange(len(self)), self.indptr.diff())
        return rows * self.num_entities + self.tails
