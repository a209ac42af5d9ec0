"""Training facts, paths and neighbours beside an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.evaluation.neighbours import Neighbour, Neighbours
from dglkgmix.kg.connections import shortest_paths
from dglkgmix.prediction.facts import Triple

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

# Facts, paths and entities that are listed of each kind.
SHOWN = 3


@dataclass(frozen=True)
class Why:
    """Training facts and vectors beside an answer: evidence to look at, not what the model did.

    The answer's own triple, where training holds it, is never listed. *Given* is the entity that
    the query gives, the head where it asks for a relation; *answer* the entity that it leads to.

    Attributes:
        same_answer: facts of the relation with the same answer, those first whose other entity is
            nearest to the given one.
        of_given: facts of the given entity, those first whose other entity is nearest to the
            answer.
        given_degree: training triples of the given entity, the answer's own included.
        paths: the shortest paths from the given entity to the answer, of one to three facts, as
            :func:`dglkgmix.kg.connections.shortest_paths` orders them.
        nearest: the entities, or relations where one is asked for, nearest to the answer.
    """

    same_answer: list[Triple]
    of_given: list[Triple]
    given_degree: int
    paths: list[list[Triple]]
    nearest: list[Neighbour]


class Explainer:
    """Finds what training holds beside an answer.

    Args:
        kg: the graph that the model was trained on.
        neighbours: of its model.
    """

    def __init__(self, kg: KnowledgeGraph, neighbours: Neighbours) -> None:
        self.kg, self.neighbours = kg, neighbours

    def why(self, triple: Triple, asked: str) -> Why:
        """Of a query's answer: the triple with it, and the role that the query asks for.

        Raises:
            UnknownNameError: a name that the graph lacks; the message lists close matches.
            NumericError: a vector is not finite.
        """
        kg = self.kg
        given, relation = kg.entities.id(triple.head), kg.relations.id(triple.relation)
        reached = kg.entities.id(triple.tail)
        if asked == "head":
            given, relation, reached = reached, relation + kg.num_relations, given
        reciprocal = (relation + kg.num_relations) % kg.num_query_relations
        # Read off the answer's side, and turned round.
        _, others = kg.train_index.tails_of([reached], [reciprocal])
        others = others[others != given]
        same_answer = [
            self._triple(int(others[place]), relation, reached)
            for place in self._nearest(others, given)
        ]
        _, relations, others = kg.train_index.triples_of([given])
        own = (relations == relation) & (others == reached)
        turned_loop = (relations >= kg.num_relations) & (others == given)
        kept = ~(own | turned_loop)
        relations, others = relations[kept], others[kept]
        of_given = [
            self._triple(given, int(relations[place]), int(others[place]))
            for place in self._nearest(others, reached)
        ]
        paths = shortest_paths(kg, given, relation, reached, SHOWN)
        return Why(
            same_answer=same_answer,
            of_given=of_given,
            given_degree=int(kg.degrees.in_degree(given)),
            paths=[[self._triple(*edge) for edge in path] for path in paths],
            nearest=self.neighbours.of(triple.given[asked], SHOWN, relation=asked == "relation"),
        )

    def _nearest(self, entities: Tensor, to: int) -> list[int]:
        """Places of the first few of ``entities`` (N,) by their cosine with ``to``."""
        cosines = self.neighbours.cosines(to)[entities]
        return torch.sort(cosines, descending=True, stable=True).indices[:SHOWN].tolist()

    def _triple(self, head: int, relation: int, tail: int) -> Triple:
        """An edge as its training triple reads."""
        kg = self.kg
        if relation >= kg.num_relations:
            head, relation, tail = tail, relation - kg.num_relations, head
        return Triple(kg.entities[head], kg.relations[relation], kg.entities[tail])
