"""1-N batches: distinct (head, relation) queries, each with all of its training tails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.keys import expand, triple_keys


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """B distinct queries with the P training triples that answer them.

    Attributes:
        heads, relations: (B,) long.
        rows: (P,) long, ascending; positive p answers query ``rows[p]``. No (row, tail) pair
            occurs twice.
        tails: (P,) long.
        edges: (P,) long, row of each positive in ``kg.edges``.
    """

    heads: Tensor
    relations: Tensor
    rows: Tensor
    tails: Tensor
    edges: Tensor

    def __len__(self) -> int:
        """Number B of queries."""
        return len(self.heads)

    def of_positives(self, values: Tensor) -> Tensor:
        """Values (B, ...) of queries as those (P, ...) of the triples that answer them."""
        return values.index_select(0, self.rows)


class QueryBatches:
    """All distinct training queries, reciprocal ones included, in batches of ``batch_size``.

    The last batch of an epoch holds what is left, so each query is seen once an epoch.

    Raises:
        ConfigError: a batch size below 1.
    """

    def __init__(self, kg: KnowledgeGraph, batch_size: int) -> None:
        if batch_size < 1:
            raise ConfigError(f"training.batch_size is {batch_size}: it must be 1 or more")
        self.batch_size = batch_size
        self.index = kg.train_index
        # The index holds the edges sorted by key, each once: sorting the keys again says which
        # edge is at each of its positions.
        keys = triple_keys(kg.edges, kg.num_entities, kg.num_query_relations)
        self._edge_at = torch.argsort(keys)

    def epoch(
        self, generator: torch.Generator, queries: Tensor | None = None
    ) -> Iterator[QueryBatch]:
        """Batches in a fresh random order.

        Args:
            generator: a CPU generator, used for the order alone.
            queries: (Q',) long, rows of ``kg.train_index`` to go through in place of all Q: the
                share of one process.
        """
        chosen = torch.arange(len(self.index)) if queries is None else queries
        order = torch.randperm(len(chosen), generator=generator)
        for part in torch.split(chosen[order], self.batch_size):
            yield self.batch(part)

    def batch(self, queries: Tensor) -> QueryBatch:
        """The batch of the queries in rows (B,) of ``kg.train_index``."""
        index = self.index
        begin = index.indptr[queries]
        rows, positions = expand(begin, index.indptr[queries + 1] - begin)
        return QueryBatch(
            heads=index.heads[queries],
            relations=index.relations[queries],
            rows=rows,
            tails=index.tails[positions],
            edges=self._edge_at[positions],
        )
