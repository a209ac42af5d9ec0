"""Which entities may be drawn as negative tails of a triple."""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling.negatives import KnownTriples


class Candidates:
    """Entities of the true tail's node type, but for itself and training tails of its query.

    Without node types all entities are of one. N triples (head, relation, tail) in all methods.
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
