"""1-K batches: training triples, each with K tails drawn at random as negatives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.index import TripleIndex
from dglkgmix.kg.keys import expand

# Negatives drawn at once: few enough for the processor's caches, many enough for few calls.
_BLOCK = 2**17
# 2**64 divided by the golden ratio, as a signed integer: spreads keys over the table evenly.
_SPREAD = -7046029254386353131
_TABLE_BITS = (10, 26)


@dataclass(frozen=True, eq=False)
class TripleBatch:
    """B training triples with K negative tails each, which ask Q queries.

    Attributes:
        heads, relations: (Q,) long, of each query.
        tails: (B,) long.
        edges: (B,) long, row of each triple in ``kg.edges``.
        negatives: (B, K) long.
        mask: (B, K) bool, True where the negative counts; False where it is a training triple
            that could not be replaced.
        rows: (B,) long, ascending; triple b asks the distinct query ``rows[b]``. None where each
            triple is a query of its own, Q = B.
    """

    heads: Tensor
    relations: Tensor
    tails: Tensor
    edges: Tensor
    negatives: Tensor
    mask: Tensor
    rows: Tensor | None = None

    def __len__(self) -> int:
        """Number B of triples."""
        return len(self.tails)

    def of_positives(self, values: Tensor) -> Tensor:
        """Values (Q, ...) of queries as those (B, ...) of the triples."""
        return values if self.rows is None else values.index_select(0, self.rows)


class KnownTriples:
    """Triples as keys ``row * E + tail``, row the query's in a :class:`TripleIndex`.

    Nearly all drawn triples are unknown, so a table of one byte for each hash value rules most of
    them out; the sorted keys are searched for the rest only, which costs several times more.
    """

    def __init__(self, index: TripleIndex) -> None:
        self.num_entities = index.num_entities
        rows = torch.repeat_interleave(index.indptr.diff())
        self._keys = rows * index.num_entities + index.tails  # ascending
        low, high = _TABLE_BITS
        self._bits = min(max((8 * len(self._keys)).bit_length(), low), high)
        self._possible = torch.zeros(1 << self._bits, dtype=torch.bool)
        self._possible[self._hash(self._keys)] = True

    def positions(self, rows: Tensor, tails: Tensor) -> Tensor:
        """Positions (W,) at which (rows[n], tails[n]), both (N,), is a known triple."""
        keys = rows * self.num_entities + tails
        possible = self._possible.index_select(0, self._hash(keys)).nonzero().flatten()
        keys = keys[possible]
        found = torch.searchsorted(self._keys, keys).clamp_(max=len(self._keys) - 1)
        return possible[self._keys[found] == keys]

    def _hash(self, keys: Tensor) -> Tensor:
        spread = keys * _SPREAD
        return spread.bitwise_right_shift_(63 - self._bits).bitwise_and_((1 << self._bits) - 1)


class NegativeSampler:
    """Draws negative tails uniformly from all entities, with replacement.

    With ``filtered``, negatives that are training triples are drawn again up to ten times; what is
    still a training triple then is masked.

    Raises:
        ConfigError: fewer than one negative.
    """

    redraws = 10

    def __init__(self, kg: KnowledgeGraph, negatives: int, *, filtered: bool = True) -> None:
        if negatives < 1:
            raise ConfigError(f"training.negatives is {negatives}: it must be 1 or more")
        self.negatives = negatives
        self.filtered = filtered
        self._known = KnownTriples(kg.train_index)

    def draw(self, queries: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Negatives (B, K) and mask (B, K) for queries in rows (B,) of ``kg.train_index``."""
        rows = torch.repeat_interleave(queries, self.negatives)  # (B * K,)
        drawn = self._draw(len(rows), generator)
        mask = torch.ones(len(rows), dtype=torch.bool)
        if self.filtered:
            wrong = self._known.positions(rows, drawn)
            for _ in range(self.redraws):
                if len(wrong) == 0:
                    break
                drawn[wrong] = self._draw(len(wrong), generator)
                wrong = wrong[self._known.positions(rows[wrong], drawn[wrong])]
            mask[wrong] = False
        shape = (len(queries), self.negatives)
        return drawn.view(shape), mask.view(shape)

    def _draw(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randint(self._known.num_entities, (count,), generator=generator)


class TripleBatches:
    """Training triples, reciprocal ones included, in batches of ``batch_size`` with negatives.

    The last batch of an epoch holds what is left, so each triple is seen once an epoch.

    Args:
        kg: the graph.
        batch_size: triples of a batch.
        negatives: K.
        filtered: see :class:`NegativeSampler`.
        by_query: triples of a query stand together in a batch, which encodes each of its queries
            once. A query with more triples than a quarter of ``batch_size`` is cut into such parts,
            so that batches stay equally large and hold several queries.

    Raises:
        ConfigError: a batch size below 1, or fewer than one negative.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        batch_size: int,
        negatives: int,
        *,
        filtered: bool = True,
        by_query: bool = False,
    ) -> None:
        if batch_size < 1:
            raise ConfigError(f"training.batch_size is {batch_size}: it must be 1 or more")
        self.batch_size = batch_size
        self.by_query = by_query
        self.edges = kg.edges
        self.sampler = NegativeSampler(kg, negatives, filtered=filtered)
        self._index = kg.train_index
        self._query_of = kg.train_index.locate(kg.edges[:, 0], kg.edges[:, 1])

    def epoch(
        self, generator: torch.Generator, edges: Tensor | None = None
    ) -> Iterator[TripleBatch]:
        """Batches in a fresh random order.

        Args:
            generator: a CPU generator, for the order and then the negatives.
            edges: (N,) long, rows of ``kg.edges`` to go through in place of all M, repeats
                allowed: what over-sampling adds, or the share of one process.
        """
        chosen = torch.arange(len(self.edges)) if edges is None else edges
        order = chosen[torch.randperm(len(chosen), generator=generator)]
        if self.by_query:
            order = self._together(order, generator)
        batches = max(1, _BLOCK // (self.batch_size * self.sampler.negatives))
        for block in torch.split(order, batches * self.batch_size):
            yield from self._block(block, generator)

    def _together(self, edges: Tensor, generator: torch.Generator) -> Tensor:
        """Shuffled edges (N,) in the order of their batches, in each of which by query."""
        query = self._query_of[edges]
        order = torch.argsort(query, stable=True)
        counts = torch.unique_consecutive(query[order], return_counts=True)[1]
        within = expand(torch.zeros_like(counts), counts)[1]
        begins = within % math.ceil(self.batch_size / 4) == 0
        place = torch.randperm(int(begins.sum()), generator=generator)[begins.cumsum(0) - 1]
        order = order[torch.argsort(place, stable=True)]
        batch = torch.arange(len(order)) // self.batch_size
        return edges[order[torch.argsort(batch * len(self._index) + query[order])]]

    def _block(self, edges: Tensor, generator: torch.Generator) -> Iterator[TripleBatch]:
        queries = self._query_of[edges]
        negatives, mask = self.sampler.draw(queries, generator)
        columns = (queries, self.edges[edges, 2], edges, negatives, mask)
        split = (torch.split(column, self.batch_size) for column in columns)
        for asked, tails, own, drawn, counts in zip(*split, strict=True):
            query, rows = asked, None
            if self.by_query:
                query, rows = torch.unique_consecutive(asked, return_inverse=True)
            heads, relations = self._index.heads[query], self._index.relations[query]
            yield TripleBatch(heads, relations, tails, own, drawn, counts, rows)
