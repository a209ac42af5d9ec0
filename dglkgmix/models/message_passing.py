"""What encoders of message passing share: the graph, hidden edges, sampled neighbours, layers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from dglkgmix.config import ModelConfig
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.models.encoder import Encoder, Vectors
from dglkgmix.models.neighbour_sampling import sampled_neighbourhoods
from dglkgmix.models.neighbourhood import Neighbourhood, thinned, with_reciprocals

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


# Activations that the gradient needs, in and out of each layer.
_LAYER_COPIES = 6


class MessagePassing(Encoder):
    """Layers that pass messages along the training edges, reciprocal ones included.

    The embedding tables are the input. A layer turns entities x into x + s m(x), with messages m(x)
    and the residual weight s, and leaves relations alone; without a residual weight it is as its
    paper has it. Layers after the first take relu(x).

    Args:
        kg: the graph; its training edges carry the messages.
        entity_dim, relation_dim: De and Dr.
        layers: modules that make of features (S, De), relations (2R, Dr), a :class:`Neighbourhood`
            and hidden edges the features (T, De) and relations of the next layer; with a residual
            weight the messages m(x) in place of features.
        residual: s, or "none".
        encoder_dropout: on what messages are made of, and on x where there is no residual weight.
        edge_dropout: probability with which each edge of a training batch is hidden, together
            with its reciprocal.
        fanout: in-edges drawn for each node and layer in training; 0 takes all. Eval mode always
            takes all.
    """

    passes_whole_graph = True

    @classmethod
    def vectors_held(cls, options: ModelConfig, kg: KnowledgeGraph) -> int:
        """Of all entities and relations' messages, in each layer."""
        return _LAYER_COPIES * options.layers * (kg.num_entities + len(kg.train_index.heads))

    def __init__(
        self,
        kg: KnowledgeGraph,
        entity_dim: int,
        relation_dim: int,
        *,
        layers: Iterable[nn.Module],
        residual: float | Literal["none"],
        encoder_dropout: float,
        edge_dropout: float,
        fanout: int,
    ) -> None:
        super().__init__(kg.num_entities, kg.num_query_relations, entity_dim, relation_dim)
        self.messages = _Shared(kg)
        self.residual = residual
        self.edge_dropout = edge_dropout
        self.fanout = fanout
        self.dropout = Dropout(encoder_dropout)
        self.layers = nn.ModuleList(layers)

    def encode(self, hidden_edges: Tensor | None = None, nodes: Tensor | None = None) -> Vectors:
        """Pass the messages; see :meth:`Encoder.encode`.

        Samples only in training with a fanout; without ``nodes`` then around all entities. Works
        in the precision of the tables, also under autocast.
        """
        hidden = self._hidden(hidden_edges)
        with torch.autocast(self.entity_table.device.type, enabled=False):
            if self.training and self.fanout > 0:
                return self._encode_sampled(hidden, nodes)
            hoods = [self.messages.full] * len(self.layers)
            return Vectors(*self._pass(self.entity_table, hoods, hidden))

    def _hidden(self, edges: Tensor | None) -> Tensor | None:
        if edges is None or not self.training or self.edge_dropout == 0 or len(edges) == 0:
            return None
        both = with_reciprocals(edges, self.messages.graph.num_edges)
        return thinned(both, self.edge_dropout)

    def _encode_sampled(self, hidden: Tensor | None, nodes: Tensor | None) -> Vectors:
        entities = len(self.entity_table)
        wanted = torch.arange(entities) if nodes is None else torch.unique(nodes.cpu())
        seed = int(torch.randint(2**31 - 1, ()))
        hidden = None if hidden is None else hidden.cpu()
        drawn = {"fanout": self.fanout, "layers": len(self.layers), "seed": seed}
        sources, hoods = sampled_neighbourhoods(self.messages.graph, wanted, hidden, **drawn)
        device = self.entity_table.device
        features = self.entity_table.index_select(0, sources.to(device))
        encoded = self._pass(features, hoods, None)  # (T, De), (2R, Dr)
        if nodes is None:
            return Vectors(*encoded)
        position = torch.full((entities,), -1).index_copy_(0, wanted, torch.arange(len(wanted)))
        return Vectors(*encoded, position.to(device))

    def _pass(
        self, features: Tensor, hoods: list[Neighbourhood], hidden: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        relations: Tensor = self.relation_table
        for depth, (layer, hood) in enumerate(zip(self.layers, hoods, strict=True)):
            given = self.dropout(torch.relu(features) if depth else features)
            made, relations = layer(given, relations, hood, hidden)
            if self.residual != "none":
                made = features[: hood.num_targets] + self.residual * made
            features = made
        return features, relations


class _Shared:
    """The graph and its full neighbourhood, which copies of a model share."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self.graph = kg

    @cached_property
    def full(self) -> Neighbourhood:
        """Made when it is first needed: a model that is only checked needs none."""
        return Neighbourhood.full(self.graph)

    def __deepcopy__(self, memo: dict[int, object]) -> _Shared:
        return self
