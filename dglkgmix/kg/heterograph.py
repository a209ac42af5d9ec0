"""Triples as DGL graphs: training edges in the two forms that the library uses, and all splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix._dgl import dgl
from dglkgmix.kg import SPLITS
from dglkgmix.kg.degrees import Graph
from dglkgmix.kg.dgl_edges import MASKS, ROW

if TYPE_CHECKING:
    from dgl import DGLGraph

NODE_TYPE = "entity"


def edge_type(relation: int) -> tuple[str, str, str]:
    """Canonical edge type of a relation id: made from the id, as names may be anything."""
    return (NODE_TYPE, f"r{relation}", NODE_TYPE)


def heterograph(triples: Tensor, num_entities: int, num_relations: int) -> DGLGraph:
    """One node type, one edge type for each relation id, also for those without a triple.

    The graph holds coordinates alone until a query needs more: column pointers would cost
    8 * E bytes for each of the R edge types.
    """
    order = torch.sort(triples[:, 1], stable=True).indices
    ends = torch.bincount(triples[:, 1], minlength=num_relations).cumsum(0)[:-1]
    heads = torch.tensor_split(triples[order, 0], ends)
    tails = torch.tensor_split(triples[order, 2], ends)
    data = {edge_type(r): pair for r, pair in enumerate(zip(heads, tails, strict=True))}
    return dgl.heterograph(data, num_nodes_dict={NODE_TYPE: num_entities}, idtype=torch.int64)


def homogeneous(triples: Tensor, num_entities: int) -> DGLGraph:
    """One node and one edge type; edge i is row i, its relation in ``edata[dgl.ETYPE]``."""
    heads, relations, tails = (column.contiguous() for column in triples.unbind(1))
    graph = dgl.graph((heads, tails), num_nodes=num_entities, idtype=torch.int64)
    graph.edata[dgl.ETYPE] = relations
    return graph


def to_dgl(kg: Graph) -> DGLGraph:
    """All splits as one heterograph with masks; see ``KnowledgeGraph.to_dgl``."""
    splits = [kg.split(name) for name in SPLITS]
    triples = torch.cat(splits)
    split = torch.repeat_interleave(torch.arange(3), torch.tensor([len(rows) for rows in splits]))
    features = {MASKS[name]: split == i for i, name in enumerate(SPLITS)}
    features[ROW] = torch.cat([torch.arange(len(rows)) for rows in splits])
    types = list(kg.edge_types or map(edge_type, range(kg.num_relations)))
    local = torch.arange(kg.num_entities)  # id of each entity within its node type
    sizes = {types[0][0]: kg.num_entities}
    if kg.edge_types is not None and kg.node_types is not None:
        members = [(kg.node_types == i).nonzero().flatten() for i in range(len(kg.node_type_names))]
        sizes = dict(zip(kg.node_type_names, map(len, members), strict=True))
        for entities in members:
            local[entities] = torch.arange(len(entities))
    rows = [(triples[:, 1] == r).nonzero().flatten() for r in range(kg.num_relations)]
    data = {
        t: (local[triples[at, 0]], local[triples[at, 2]]) for t, at in zip(types, rows, strict=True)
    }
    graph = dgl.heterograph(data, num_nodes_dict=sizes, idtype=torch.int64)
    for kind, at in zip(types, rows, strict=True):
        for name, values in features.items():
            graph.edges[kind].data[name] = values[at]
    if kg.node_types is not None and kg.edge_types is None:
        graph.ndata["ntype"] = kg.node_types.clone()
    return graph
