"""Graphs from DGL and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix._dgl import dgl
from dglkgmix.errors import DataError
from dglkgmix.kg.dgl_edges import MASKS, ROW, Nodes, edge_types_of, is_numbered, read_splits
from dglkgmix.kg.graph import SPLITS, KnowledgeGraph
from dglkgmix.kg.heterograph import NODE_TYPE, edge_type
from dglkgmix.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph


def from_dgl(
    graph: DGLGraph,
    valid: DGLGraph | None = None,
    test: DGLGraph | None = None,
    *,
    masks: Mapping[str, str] | None = None,
    entities: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    relations: Sequence[str] | None = None,
) -> KnowledgeGraph:
    """A KnowledgeGraph from a DGL graph; nothing of the graph is changed.

    Relations are the edge types of a heterograph, or the numbers in ``edata["etype"]`` (or
    ``edata[dgl.ETYPE]``) of a graph with one edge type. Splits are separate graphs over the same
    nodes, or boolean edge masks; the masks of ``dgl.data`` are recognised. Without either all
    edges train. Edges in no split are left out, which is logged.

    Args:
        graph: training edges, or all edges with masks.
        valid: validation edges over the same nodes; masks are then not looked for.
        test: test edges, likewise.
        masks: names of edge features by split, as ``{"train": "train_mask", …}``; without one
            for train all edges in no other split train.
        entities: names in id order, or by node type. Without them names are node ids, as
            "paper:3" where there are several node types.
        relations: names in the order of edge types. Without them they are the edge types, as
            "author:writes:paper" where several share a name, or their numbers.

    Raises:
        DataError: graphs, masks or names that do not fit together, or no training edge.
    """
    nodes = Nodes(graph)
    graphs = [g for g in (graph, valid, test) if g is not None]
    for other in graphs[1:]:
        nodes.check_same(other)
    types = edge_types_of(graphs)
    numbered = is_numbered(graphs, types)
    parts = read_splits((graph, valid, test), masks, nodes, None if numbered else types)
    if relations is None:
        relations = _numbers(parts) if numbered else _type_names(types)
    return KnowledgeGraph(
        Vocabulary(nodes.entity_names(entities), "entity"),
        Vocabulary(list(relations), "relation"),
        *parts,
        node_types=nodes.types,
        node_type_names=nodes.names,
        edge_types=None if numbered else _fitting(types, relations),
    )


def to_dgl(kg: KnowledgeGraph) -> DGLGraph:
    """Original triples of all splits as a DGL heterograph, rows as the splits hold them.

    Edge features: boolean ``train_mask``, ``val_mask``, ``test_mask``, and ``split_row``, the
    row in the split. Edge types are those of the graph that ``kg`` came from, else ("entity",
    "r0", "entity"), "r1" …; node types likewise. :func:`from_dgl` is the way back.
    """
    triples = torch.cat([kg.split(name) for name in SPLITS])
    sizes = torch.tensor([len(kg.split(name)) for name in SPLITS])
    features = {mask: torch.repeat_interleave(torch.arange(3) == i, sizes) for i, mask in _masks()}
    features[ROW] = torch.cat([torch.arange(size) for size in sizes.tolist()])
    types = list(kg.edge_types or map(edge_type, range(kg.num_relations)))
    local, num_nodes = _local_ids(kg)
    rows = [(triples[:, 1] == r).nonzero().flatten() for r in range(kg.num_relations)]
    data = {
        t: (local[triples[at, 0]], local[triples[at, 2]]) for t, at in zip(types, rows, strict=True)
    }
    graph = dgl.heterograph(data, num_nodes_dict=num_nodes, idtype=torch.int64)
    for kind, at in zip(types, rows, strict=True):
        for name, values in features.items():
            graph.edges[kind].data[name] = values[at]
    if kg.node_types is not None and kg.edge_types is None:
        graph.ndata["ntype"] = kg.node_types.clone()
    return graph


def _masks() -> list[tuple[int, str]]:
    return list(enumerate(MASKS[name] for name in SPLITS))


def _local_ids(kg: KnowledgeGraph) -> tuple[Tensor, dict[str, int]]:
    """Id of each entity within its node type, and the sizes of node types."""
    if kg.edge_types is None or kg.node_types is None:
        name = kg.edge_types[0][0] if kg.edge_types else NODE_TYPE
        return torch.arange(kg.num_entities), {name: kg.num_entities}
    local = torch.empty(kg.num_entities, dtype=torch.long)
    sizes = {}
    for i, name in enumerate(kg.node_type_names):
        members = (kg.node_types == i).nonzero().flatten()
        local[members] = torch.arange(len(members))
        sizes[name] = len(members)
    return local, sizes


def _numbers(parts: Sequence[Tensor]) -> list[str]:
    largest = max((int(rows[:, 1].max()) for rows in parts if len(rows)), default=-1)
    return [str(number) for number in range(largest + 1)]


def _type_names(types: Sequence[tuple[str, str, str]]) -> list[str]:
    short = [name for _, name, _ in types]
    return [kind[1] if short.count(kind[1]) == 1 else ":".join(kind) for kind in types]


def _fitting(types: Sequence[Any], relations: Sequence[str]) -> Sequence[Any]:
    if len(types) != len(relations):
        raise DataError(f"{len(relations)} relation names for {len(types)} edge types")
    return types
