"""Training triples as DGL graphs, in the two forms that the library uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix._dgl import dgl

if TYPE_CHECKING:
    from dgl import DGLGraph

NODE_TYPE = "entity"


def edge_type(relation: int) -> tuple[str, str, str]:
    """Canonical edge type of a relation id: made from the id, as names may be anything."""
    return (NODE_TYPE, f"r{relation}", NODE_TYPE)


def by_relation(triples: Tensor, num_relations: int) -> tuple[Tensor, list[int]]:
    """Positions (N,) that group triples by relation, order kept within one; sizes of groups."""
    order = torch.sort(triples[:, 1], stable=True).indices
    return order, torch.bincount(triples[:, 1], minlength=num_relations).tolist()


def heterograph(triples: Tensor, num_entities: int, num_relations: int) -> DGLGraph:
    """One node type, one edge type for each relation id, also for those without a triple.

    The graph holds coordinates alone until a query needs more: column pointers would cost
    8 * E bytes for each of the R edge types.
    """
    order, counts = by_relation(triples, num_relations)
    ends = torch.tensor(counts).cumsum(0)[:-1]
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
