"""Negative samplers in the shape of :mod:`dgl.dataloading.negative_sampler`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from dglkgmix.errors import ConfigError
from dglkgmix.kg.dgl_edges import CanonicalType
from dglkgmix.pipeline.candidates import Candidates
from dglkgmix.pipeline.etypes import EdgeIds, by_type
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.sampling import seeds

if TYPE_CHECKING:
    from dgl import DGLGraph

Pairs = tuple[Tensor, Tensor]


class FilteredNegativeSampler:
    """For each edge (h, r, t) k pairs (h, t'), t' uniform over the candidates, with replacement.

    Candidates are the nodes of t's type but t, with which (h, r, t') is no training triple. An
    edge that has none, as its head is linked to every node of that type, gives no pair.

    Each process draws from a generator of its own: the workers of a DataLoader draw differently,
    and anew each epoch, as follows from ``seed`` and from PyTorch's own (``torch.manual_seed``).

    Args:
        ids: the graph with its training edges.
        k: negatives of an edge.
        seed: of the draws.

    Raises:
        ConfigError: k below 1.
    """

    rounds = 10

    def __init__(self, ids: GraphIds, k: int, *, seed: int = 0) -> None:
        if k < 1:
            raise ConfigError(f"k is {k}: a negative sampler draws 1 or more for each edge")
        self.ids = ids
        self.k = k
        self.seed = seed
        self._candidates = Candidates(ids.kg)
        self._generator: tuple[int | None, torch.Generator] | None = None

    def __call__(self, g: DGLGraph, eids: EdgeIds) -> Pairs | dict[CanonicalType, Pairs]:
        """Negative pairs of edges, (source, destination) of up to (N * k,) nodes each.

        Pairs of one edge stand together, in the order of the edges.

        Args:
            g: ``ids.graph``, or another graph over its nodes.
            eids: edge ids (N,) by type; without a type where the graph has only one.

        Raises:
            DataError: unknown edge types (UnknownNameError), or a graph of other nodes.
            OutOfRangeError: an edge that the type does not have.
        """
        asked = by_type(g, eids)
        triples = self.ids.triples(asked, g)
        tails, mask = self.draw(triples)
        found = {}
        for etype, rows in zip(asked, _consecutive(asked.values()), strict=True):
            ends = triples[rows, :1].expand_as(tails[rows])[mask[rows]], tails[rows][mask[rows]]
            found[etype] = (self._local(g, etype[0], ends[0]), self._local(g, etype[2], ends[1]))
        return found if isinstance(eids, Mapping) else found[g.canonical_etypes[0]]

    def draw(self, triples: Tensor) -> tuple[Tensor, Tensor]:
        """Negative tails (N, k) of triples (N, 3), and a mask (N, k) of which count.

        The mask is False for all k where a triple has no candidate; its own tail stands there.
        """
        counts = self._candidates.exist(triples)
        asked = triples[counts].repeat_interleave(self.k, 0)
        negatives = triples[:, 2:].repeat(1, self.k)
        negatives[counts] = self._draw(asked, self._own_generator()).view(-1, self.k)
        return negatives, counts.unsqueeze(1).repeat(1, self.k)

    def _log_weights(self, relations: Tensor, tails: Tensor) -> Tensor | None:
        """(N,) log of the weights, at most 1, of tails as negatives; None where all weigh 1."""
        return None

    def _local(self, g: DGLGraph, ntype: str, entities: Tensor) -> Tensor:
        nodes: Tensor = self.ids.nodes(entities).get(ntype, entities).to(g.device, g.idtype)
        return nodes

    def _draw(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """A negative (N,) for each triple: drawn and refused, or at last drawn from a list."""
        drawn = torch.empty(len(triples), dtype=torch.long)
        left, queries = torch.arange(len(triples)), self._candidates.queries(triples)
        for _ in range(self.rounds):
            if len(left) == 0:
                return drawn
            asked = triples[left]
            tails = self._candidates.propose(asked, generator)
            drawn[left] = tails
            refused = self._candidates.are_known(queries[left], tails) | (tails == asked[:, 2])
            weights = self._log_weights(asked[:, 1], tails)
            if weights is not None:
                refused |= _dice(len(left), generator).log() >= weights
            left = left[refused]
        drawn[left] = self._from_lists(triples[left], generator)
        return drawn

    def _from_lists(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """A negative (N,) for each triple, from the candidates of each distinct one written out."""
        drawn = torch.empty(len(triples), dtype=torch.long)
        distinct, which = torch.unique(triples, dim=0, return_inverse=True)
        for i, triple in enumerate(distinct):
            places = (which == i).nonzero().flatten()
            listed = self._candidates.of(triple)
            weights = self._log_weights(triple[1].expand(len(listed)), listed)
            if weights is None:
                weights = torch.zeros(len(listed), dtype=torch.float64)
            ends = (weights - weights.max()).exp().cumsum(0)
            at = torch.searchsorted(ends, _dice(len(places), generator) * ends[-1], right=True)
            drawn[places] = listed[at.clamp(max=len(listed) - 1)]
        return drawn

    def _own_generator(self) -> torch.Generator:
        worker = get_worker_info()
        process = None if worker is None else int(worker.seed)
        if self._generator is None or self._generator[0] != process:
            parts = () if process is None else (process,)
            self._generator = process, seeds.generator(self.seed, "negatives", *parts)
        return self._generator[1]


class LowDegreeNegativeSampler(FilteredNegativeSampler):
    """Draws candidates t' of (h, r, t) with probability in proportion to (1 + d_tail(t', r))^-p.

    d_tail is the tail-relation degree over training triples: nodes that r seldom points at are
    drawn more often than those that it often points at. p = 0 is the uniform sampler.

    Args:
        ids: the graph with its training edges.
        k: negatives of an edge.
        power: p.
        seed: of the draws.

    Raises:
        ConfigError: k below 1, or a power below 0.
    """

    def __init__(self, ids: GraphIds, k: int, *, power: float = 1.0, seed: int = 0) -> None:
        if not 0 <= power < math.inf:
            raise ConfigError(f"power is {power}: it must be a number of 0 or more")
        super().__init__(ids, k, seed=seed)
        self.power = power

    def _log_weights(self, relations: Tensor, tails: Tensor) -> Tensor | None:
        degrees = self.ids.kg.degrees.tail_relation(tails, relations)
        return -self.power * torch.log1p(degrees.double())


def _consecutive(parts: Iterable[Tensor]) -> Iterator[slice]:
    """Where each part is, once they stand one after another."""
    start = 0
    for part in parts:
        yield slice(start, start + len(part))
        start += len(part)


def _dice(count: int, generator: torch.Generator) -> Tensor:
    return torch.rand(count, dtype=torch.float64, generator=generator)
