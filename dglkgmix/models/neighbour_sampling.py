"""Sampled neighbourhoods: a few in-edges of each node in place of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.models.neighbourhood import Neighbourhood

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


def sampled_neighbourhoods(
    kg: KnowledgeGraph,
    nodes: Tensor,
    hidden: Tensor | None = None,
    *,
    fanout: int,
    layers: int,
    seed: int,
) -> tuple[Tensor, list[Neighbourhood]]:
    """Of ``nodes``, (T,) distinct entity ids on the CPU, layer by layer outwards.

    Args:
        kg: the graph whose training edges are drawn, uniformly without replacement.
        nodes: (T,).
        hidden: (H,) edge ids that are never drawn, or None.
        fanout: most in-edges of a node and layer.
        layers: how many neighbourhoods.
        seed: of DGL's sampler.

    Returns:
        Entity ids (S,) of the first layer's sources, and the neighbourhoods, first layer first. The
        first T rows of a layer's sources are its targets.
    """
    from dglkgmix._dgl import dgl

    dgl.seed(seed)
    hoods: list[Neighbourhood] = []
    for _ in range(layers):
        block, relations = _block(kg, nodes, hidden, fanout)
        sizes = (kg.num_query_relations, block.num_src_nodes(), block.num_dst_nodes())
        hoods.insert(0, Neighbourhood.build(block.edges(), relations, *sizes))
        nodes = block.srcdata[dgl.NID]
    return nodes, hoods


def _block(
    kg: KnowledgeGraph, nodes: Tensor, hidden: Tensor | None, fanout: int
) -> tuple[Any, Tensor]:
    """A DGL block into ``nodes``, and the relation of each of its edges."""
    from dglkgmix._dgl import dgl

    graph, mask = kg.homogeneous, None
    with graph.local_scope():
        if hidden is not None:
            mask = "visible"
            graph.edata[mask] = torch.ones(graph.num_edges()).index_fill_(0, hidden, 0.0)
        drawn = dgl.sampling.sample_neighbors(graph, nodes, fanout, prob=mask)
    block = dgl.to_block(drawn, nodes)
    edge_ids = drawn.edata[dgl.EID][block.edata[dgl.EID]]
    return block, kg.edges[edge_ids, 1]
