"""The questions that an evaluation asks: both directions of every triple of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

TAIL, HEAD = 0, 1
DIRECTIONS = ("tail", "head")


@dataclass(frozen=True)
class EvalQueries:
    """Queries (head, relation, ?) with their answers; Q of them.

    Attributes:
        heads: (Q,) the given entities.
        relations: (Q,) relations, reciprocal where the triple's head is asked for.
        answers: (Q,) the entities asked for.
        direction: (Q,) 0 where the triple's tail is asked for, 1 where its head is.
        triple: (Q,) row of the triple in its split.
        kg: their graph.
    """

    heads: Tensor
    relations: Tensor
    answers: Tensor
    direction: Tensor
    triple: Tensor
    kg: KnowledgeGraph

    def __len__(self) -> int:
        return len(self.heads)

    def describe(self, index: int) -> str:
        """The query as a person would write it: ``(Berlin, capital of, ?)``."""
        kg, relation = self.kg, int(self.relations[index])
        name, own = kg.entities[int(self.heads[index])], kg.relations[relation % kg.num_relations]
        return f"({name}, {own}, ?)" if relation < kg.num_relations else f"(?, {own}, {name})"


def evaluation_queries(kg: KnowledgeGraph, split: str) -> EvalQueries:
    """Both queries of each of the N rows of a split: N tail queries, then N head queries.

    Rows stay as the files hold them, duplicates included (docs/numbers.md, Ranks).
    """
    return queries_of(kg, kg.split(split))


def queries_of(kg: KnowledgeGraph, triples: Tensor) -> EvalQueries:
    """Both queries of each of N triples (N, 3) of ``kg``'s ids: N tail, then N head queries."""
    head, relation, tail = triples.unbind(1)
    count = len(head)
    return EvalQueries(
        heads=torch.cat([head, tail]),
        relations=torch.cat([relation, relation + kg.num_relations]),
        answers=torch.cat([tail, head]),
        direction=torch.arange(2).repeat_interleave(count),
        triple=torch.arange(count).repeat(2),
        kg=kg,
    )
