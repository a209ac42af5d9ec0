"""1-K batches: training triples, each with K tails drawn at random as negatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.index import TripleIndex

# Negatives drawn at once: few enough for the processor's caches, many enough for few calls.
_BLOCK = 2**17
# 2**64 divided by the golden ratio, as a signed integer: spreads keys over the table evenly.
_SPREAD = -7046029254386353131
_TABLE_BITS = (10, 26)


@dataclass(frozen=True, eq=False)
class TripleBatch:
    """B training triples with K negative tails each.

    Attributes:
        heads, relations, tails: (B,) long.
        edges: (B,) long, row of each triple in ``kg.edges``.
        negatives: (B, K) long.
        mask: (B, K) bool, True where the negative counts; False where it is a training triple
            that could not be replaced.
    """

    heads: Tensor
    relations: Tensor
    tails: Tensor
    edges: Tensor
    negatives: Tensor
    mask: Tensor

    def __len__(self) -> int:
        """Number B of triples."""
        return len(self.heads)


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
    still a training triple then is masked (method, Training regimes).

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

    Raises:
        ConfigError: a batch size below 1, or fewer than one negative.
    """

    def __init__(
        self, kg: KnowledgeGraph, batch_size: int, negatives: int, *, filtered: bool = True
    ) -> None:
        if batch_size < 1:
            raise ConfigError(f"training.batch_size is {batch_size}: it must be 1 or more")
        self.batch_size = batch_size
        self.edges = kg.edges
        self.sampler = NegativeSampler(kg, negatives, filtered=filtered)
        self._query_of = kg.train_index.locate(kg.edges[:, 0], kg.edges[:, 1])

    def __len__(self) -> int:
        """Number of batches of an epoch over all M triples."""
        return (len(self.edges) + self.batch_size - 1) // self.batch_size

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
        batches = max(1, _BLOCK // (self.batch_size * self.sampler.negatives))
        for block in torch.split(order, batches * self.batch_size):
            negatives, mask = self.sampler.draw(self._query_of[block], generator)
            columns = (*self.edges[block].unbind(1), block, negatives, mask)
            parts = (torch.split(column, self.batch_size) for column in columns)
            for batch in zip(*parts, strict=True):
                yield TripleBatch(*batch)
