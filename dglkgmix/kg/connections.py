"""How two entities are connected: the shortest paths between them over training triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor

from dglkgmix.kg.graph import KnowledgeGraph

Edge = tuple[int, int, int]


def shortest_paths(
    kg: KnowledgeGraph, head: int, relation: int, tail: int, most: int = 3
) -> list[list[Edge]]:
    """The shortest paths from ``head`` to ``tail`` without the triple (head, relation, tail).

    A path is one to three edges of ``kg.edges``, each from where the last one ends; there are none
    where the entities are further apart, or the same. Of equally short paths those come first whose
    first entity on the way has the lowest degree, then by its id and the relation's, then likewise
    by the second: an entity of many triples says little about those that it connects.

    All triples of either end, and those of the neighbours of one end, are read at most once.

    Args:
        kg: the graph.
        head: id of an entity.
        relation: id of a relation, reciprocal ones included.
        tail: id of an entity.
        most: number of paths.
    """
    if head == tail:
        return []
    search = _Search(kg, head, relation, tail)
    return list(islice(search.walk(head, search.layers()), most))


class _Search:
    def __init__(self, kg: KnowledgeGraph, head: int, relation: int, tail: int) -> None:
        self.kg, self.head, self.tail = kg, head, tail
        self.left_out = {
            (head, relation, tail),
            (tail, (relation + kg.num_relations) % kg.num_query_relations, head),
        }

    def edges(self, node: int) -> tuple[Tensor, Tensor]:
        """(P,) relations and tails of the edges from ``node``, without those left out."""
        _, relations, tails = self.kg.train_index.triples_of([node])
        kept = torch.ones(len(tails), dtype=torch.bool)
        for head, relation, tail in self.left_out:
            if head == node:
                kept &= (relations != relation) | (tails != tail)
        return relations[kept], tails[kept]

    def layers(self) -> list[Tensor]:
        """(E,) bool for each edge of a shortest path: where it may end."""
        starts, ends = (self.mask(self.edges(node)[1]) for node in (self.head, self.tail))
        goal = self.mask(torch.tensor([self.tail]))
        if starts[self.tail]:
            return [goal]
        if (starts & ends).any():
            return [starts & ends, goal]
        degrees = self.kg.degrees.in_degree
        near, far = starts.nonzero()[:, 0], ends.nonzero()[:, 0]
        if degrees(near).sum() <= degrees(far).sum():
            rows, _, tails = self.kg.train_index.triples_of(near)
            connected = near[rows[ends[tails]]]
        else:
            connected = self.kg.train_index.triples_of(far)[2]
        return [self.mask(connected), ends, goal]

    def mask(self, entities: Tensor) -> Tensor:
        found = torch.zeros(self.kg.num_entities, dtype=torch.bool)
        found[entities] = True
        return found

    def walk(self, node: int, layers: Sequence[Tensor]) -> Iterator[list[Edge]]:
        """Paths from ``node`` whose edges end in the layers, one after the other."""
        relations, tails = self.edges(node)
        kept = layers[0][tails]
        relations, tails = relations[kept], tails[kept]
        degrees = self.kg.degrees.in_degree(tails)
        for _, tail, relation in sorted(
            zip(degrees.tolist(), tails.tolist(), relations.tolist(), strict=True)
        ):
            for rest in self.walk(tail, layers[1:]) if len(layers) > 1 else [[]]:
                yield [(node, relation, tail), *rest]
