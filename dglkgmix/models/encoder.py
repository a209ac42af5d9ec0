"""What every encoder is: the embedding tables, and the vectors that decoders get."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dglkgmix.config import ModelConfig
from dglkgmix.kg.graph import KnowledgeGraph


@dataclass(frozen=True)
class Vectors:
    """Encoded entities and relations: what ids become.

    Attributes:
        entities: (E', De); all E entities in the order of their ids, unless ``position`` is given.
        relations: (2R, Dr).
        position: (E,) row of each entity in ``entities``, -1 where it was not encoded.
    """

    entities: Tensor
    relations: Tensor
    position: Tensor | None = None

    def entity(self, ids: Tensor) -> Tensor:
        """Vectors (..., De) of entity ids (...)."""
        rows = ids if self.position is None else self.position[ids]
        return functional.embedding(rows, self.entities)

    def relation(self, ids: Tensor) -> Tensor:
        """Vectors (..., Dr) of relation ids (...), reciprocal ones included."""
        return functional.embedding(ids, self.relations)


class Encoder(nn.Module, ABC):
    """Holds the embedding tables and makes vectors of them.

    Attributes:
        entity_table: (E, De), relation_table: (2R, Dr); the *embedding tables*, which two-stage
            training keeps while everything else starts afresh.
        title: what people call it; empty for the class's own name.
        passes_whole_graph: whether each batch costs a pass over the graph, so that few large ones
            pay.
        fanout: neighbours drawn for each node and layer; 0 for an encoder that draws none.
        by_relation: parameters with a row for each of the 2R relations; those with a row for each
            entity are ``entity_table`` alone. A training that starts from another run matches rows
            by name, and takes all other parameters as they are.

    The constructor's parameters are the options it reads: ``kg`` or its sizes ``entities`` and
    ``relations``, ``entity_dim``, ``relation_dim``, options of ``[model]`` and those that the class
    declares in ``Options``.
    """

    title = ""
    passes_whole_graph = False
    fanout = 0
    by_relation: tuple[str, ...] = ("relation_table",)

    @classmethod
    def vectors_held(cls, options: ModelConfig, kg: KnowledgeGraph) -> int:
        """Vectors that its gradient needs in memory, in and out of all layers; 0 by default."""
        return 0

    def __init__(self, entities: int, relations: int, entity_dim: int, relation_dim: int) -> None:
        super().__init__()
        self.entity_table = nn.Parameter(torch.zeros(entities, entity_dim))
        self.relation_table = nn.Parameter(torch.zeros(relations, relation_dim))

    @abstractmethod
    def encode(self, hidden_edges: Tensor | None = None, nodes: Tensor | None = None) -> Vectors:
        """Vectors of all entities; in training an encoder may leave out all but ``nodes``.

        Args:
            hidden_edges: rows of ``kg.edges`` that, with their reciprocals, must not pass
                messages: a training batch's own. Without effect in eval mode.
            nodes: distinct entity ids that the batch needs; None for all of them.
        """
