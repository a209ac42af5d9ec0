"""Sampled neighbourhoods: a few in-edges of each node in place of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.models.neighbourhood import Neighbourhood

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

VISIBLE = "visible"


@dataclass(frozen=True)
class NeighbourSampler:
    """Draws at most ``fanout`` in-edges of every node, layer by layer outwards.

    Attributes:
        kg: the graph whose training edges are drawn, uniformly without replacement.
        fanout: most in-edges of a node and layer.
        layers: how many neighbourhoods a draw gives.
    """

    kg: KnowledgeGraph
    fanout: int
    layers: int

    def draw(
        self, nodes: Tensor, hidden: Tensor | None, seed: int
    ) -> tuple[Tensor, list[Neighbourhood]]:
        """Neighbourhoods around ``nodes``, (T,) distinct entity ids on the CPU.

        ``hidden`` edge ids (H,) are never drawn; ``seed`` goes to DGL's sampler.

        Returns:
            Entity ids (S,) of the first layer's sources, and the neighbourhoods, first layer
            first. The first T rows of a layer's sources are its targets.
        """
        from dglkgmix._dgl import dgl

        dgl.seed(seed)
        hoods: list[Neighbourhood] = []
        for _ in range(self.layers):
            block, relations = self._block(nodes, hidden)
            sizes = (self.kg.num_query_relations, block.num_src_nodes(), block.num_dst_nodes())
            hoods.insert(0, Neighbourhood.build(block.edges(), relations, *sizes))
            nodes = block.srcdata[dgl.NID]
        return nodes, hoods

    def _block(self, nodes: Tensor, hidden: Tensor | None) -> tuple[Any, Tensor]:
        """A DGL block into ``nodes``, and the relation of each of its edges."""
        from dglkgmix._dgl import dgl

        graph, mask = self.kg.homogeneous, None
        with graph.local_scope():
            if hidden is not None:
                mask = VISIBLE
                graph.edata[mask] = torch.ones(graph.num_edges()).index_fill_(0, hidden, 0.0)
            drawn = dgl.sampling.sample_neighbors(graph, nodes, self.fanout, prob=mask)
        block = dgl.to_block(drawn, nodes)
        edge_ids = drawn.edata[dgl.EID][block.edata[dgl.EID]]
        return block, self.kg.edges[edge_ids, 1]
