"""Negative samplers in the shape of :mod:`dgl.dataloading.negative_sampler`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.data import get_worker_info

from dglkgmix.config.checks import check_count
from dglkgmix.errors import ConfigError
from dglkgmix.kg.dgl_edges import CanonicalType
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.pipeline.etypes import EdgeIds, by_type
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.sampling import seeds
from dglkgmix.sampling.negatives import KnownTriples

if TYPE_CHECKING:
    from dgl import DGLGraph

Pairs = tuple[Tensor, Tensor]


class NegativeTails:
    """Which entities may be drawn as negative tails of triples (N, 3).

    Those of the true tail's node type, but for itself and training tails of its query.
    """

    def __init__(self, kg: KnowledgeGraph) -> None:
        types = torch.zeros(kg.num_entities, dtype=torch.long)
        self._types = types if kg.node_types is None else kg.node_types
        self._index = kg.train_index
        self._known = KnownTriples(kg.train_index)
        self._members = torch.argsort(self._types, stable=True)  # (E,) type after type
        self._sizes = torch.bincount(self._types)
        self._starts = self._sizes.cumsum(0) - self._sizes

    def exist(self, triples: Tensor) -> Tensor:
        """(N,) bool: whether a triple has any candidate."""
        rows, tails = self._index.tails_of(triples[:, 0], triples[:, 1])
        types = self._types[triples[:, 2]]
        alike = rows[(self._types[tails] == types[rows]) & (tails != triples[rows, 2])]
        return torch.bincount(alike, minlength=len(triples)) + 1 < self._sizes[types]

    def propose(self, triples: Tensor, generator: torch.Generator) -> Tensor:
        """(N,) entities of the tails' types, uniformly; known tails among them."""
        types = self._types[triples[:, 2]]
        share = torch.rand(len(types), dtype=torch.float64, generator=generator)
        return self._members[self._starts[types] + (share * self._sizes[types]).long()]

    def queries(self, triples: Tensor) -> Tensor:
        """(N,) number of each triple's query, for :meth:`are_known`."""
        return self._index.locate(triples[:, 0], triples[:, 1])

    def are_known(self, queries: Tensor, tails: Tensor) -> Tensor:
        """(N,) bool: whether tails (N,) of queries (N,) make training triples."""
        known = torch.zeros(len(tails), dtype=torch.bool)
        known[self._known.positions(queries, tails)] = True
        return known & (queries >= 0)

    def of(self, triple: Tensor) -> Tensor:
        """(C,) all candidates of one triple (3,)."""
        kind = self._types[triple[2]]
        members = self._members.narrow(0, int(self._starts[kind]), int(self._sizes[kind]))
        query = self.queries(triple.unsqueeze(0)).expand(len(members))
        return members[~self.are_known(query, members) & (members != triple[2])]


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
        ConfigError: k is no whole number, or below 1.
    """

    rounds = 10

    def __init__(self, ids: GraphIds, k: int, *, seed: int = 0) -> None:
        check_count("k", k, "negatives of an edge")
        self.ids, self.k, self.seed = ids, k, seed
        self._candidates = NegativeTails(ids.kg)
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
        sizes = [len(ids) for ids in asked.values()]
        heads = triples[:, :1].expand_as(tails)
        drawn = (torch.split(part, sizes) for part in (heads, tails, mask))
        found = {
            etype: (self._local(g, etype[0], own[kept]), self._local(g, etype[2], rivals[kept]))
            for etype, own, rivals, kept in zip(asked, *drawn, strict=True)
        }
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


def _dice(count: int, generator: torch.Generator) -> Tensor:
    return torch.rand(count, dtype=torch.float64, generator=generator)
