"""R-GCN encoder: an entity's vector is made of its neighbours' (method, Decoders)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from dglkgmix.config import ModelConfig
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.models.encoder import Encoder, Vectors
from dglkgmix.models.neighbour_sampling import NeighbourSampler
from dglkgmix.models.neighbourhood import Neighbourhood, thinned, with_reciprocals
from dglkgmix.models.rgcn_layer import BasisMatrices, BlockMatrices, RGCNLayer

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


# Activations that the gradient needs, in and out of each layer.
_LAYER_COPIES = 6


class RGCN(Encoder):
    """Layers of relational graph convolution over the training graph, reciprocal edges included.

    The embedding tables are the input; relations go to the decoder as they are. Dropout thins the
    input of each layer; ReLU stands between layers.

    Args:
        kg: the graph; its training edges carry the messages.
        entity_dim, relation_dim: De and Dr.
        layers: how many, at least 1.
        decomposition: what each relation's matrix is made of.
        bases: number of bases or of diagonal blocks.
        encoder_dropout: on the input of each layer.
        edge_dropout: probability with which each edge of a training batch is hidden, together
            with its reciprocal.
        fanout: in-edges drawn for each node and layer in training; 0 takes all. Eval mode always
            takes all.

    Raises:
        ConfigError: blocks that do not divide the dimension.
    """

    title = "R-GCN"
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
        layers: int = 1,
        decomposition: Literal["basis", "block"] = "basis",
        bases: int = 30,
        encoder_dropout: float = 0.0,
        edge_dropout: float = 1.0,
        fanout: int = 0,
    ) -> None:
        super().__init__(kg.num_entities, kg.num_query_relations, entity_dim, relation_dim)
        self.messages = _Shared(kg)
        self.edge_dropout = edge_dropout
        self.fanout = fanout
        self.dropout = Dropout(encoder_dropout)
        kind = {"basis": BasisMatrices, "block": BlockMatrices}[decomposition]
        self.layers = nn.ModuleList(
            RGCNLayer(kind(kg.num_query_relations, entity_dim, bases), entity_dim)
            for _ in range(layers)
        )

    @property
    def by_relation(self) -> tuple[str, ...]:  # type: ignore[override]
        """The matrices of each layer, or what mixes them, too."""
        own = ("matrices.coefficients", "matrices.blocks")
        found = [name for name, _ in self.named_parameters() if name.endswith(own)]
        return ("relation_table", *found)

    def encode(
        self,
        hidden_edges: Tensor | None = None,
        nodes: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Vectors:
        """Pass the messages; see :meth:`Encoder.encode`.

        Samples only in training with a fanout; without ``nodes`` then around all entities. Works
        in the precision of the tables, also under autocast.
        """
        hidden = self._hidden(hidden_edges, generator)
        with torch.autocast(self.entity_table.device.type, enabled=False):
            if self.training and self.fanout > 0:
                return self._encode_sampled(hidden, nodes, generator)
            hoods = [self.messages.full] * len(self.layers)
            return Vectors(self._pass(self.entity_table, hoods, hidden), self.relation_table)

    def _hidden(self, edges: Tensor | None, generator: torch.Generator | None) -> Tensor | None:
        if edges is None or not self.training or self.edge_dropout == 0 or len(edges) == 0:
            return None
        both = with_reciprocals(edges, self.messages.graph.num_edges)
        return thinned(both, self.edge_dropout, generator)

    def _encode_sampled(
        self, hidden: Tensor | None, nodes: Tensor | None, generator: torch.Generator | None
    ) -> Vectors:
        entities = len(self.entity_table)
        wanted = torch.arange(entities) if nodes is None else torch.unique(nodes.cpu())
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        sampler = NeighbourSampler(self.messages.graph, self.fanout, len(self.layers))
        sources, hoods = sampler.draw(wanted, None if hidden is None else hidden.cpu(), seed)
        device = self.entity_table.device
        features = self.entity_table.index_select(0, sources.to(device))
        encoded = self._pass(features, hoods, None)  # (T, De)
        if nodes is None:
            return Vectors(encoded, self.relation_table)
        position = torch.full((entities,), -1).index_copy_(0, wanted, torch.arange(len(wanted)))
        return Vectors(encoded, self.relation_table, position.to(device))

    def _pass(self, features: Tensor, hoods: list[Neighbourhood], hidden: Tensor | None) -> Tensor:
        for depth, (layer, hood) in enumerate(zip(self.layers, hoods, strict=True)):
            if depth:
                features = torch.relu(features)
            features = layer(self.dropout(features), hood, hidden)
        return features


class _Shared:
    """The graph and its full neighbourhood, which copies of a model share."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self.graph = kg
        self.full = Neighbourhood.full(kg)

    def __deepcopy__(self, memo: dict[int, object]) -> _Shared:
        return self
