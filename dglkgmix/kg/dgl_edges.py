"""Graphs from DGL, in ids of a KnowledgeGraph, and triples as DGL graphs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix._dgl import dgl
from dglkgmix.errors import DataError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.degrees import Graph
from dglkgmix.kg.keys import as_integers
from dglkgmix.kg.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph

CanonicalType = tuple[str, str, str]
# Of the library's own graphs.
NODE_TYPE = "entity"
MASKS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
ROW = "split_row"
# `dgl.data` sets mark the given edges with the first three; where reverse edges were added, the
# plain masks of such a set cover these too.
_KNOWN_MASKS = (
    {"train": "train_edge_mask", "valid": "valid_edge_mask", "test": "test_edge_mask"},
    MASKS,
    {"train": "train_mask", "valid": "valid_mask", "test": "test_mask"},
)
# Features with the types of edges and nodes in `dgl.data` and after `dgl.to_homogeneous`
_EDGE_TYPE = ("etype", "_TYPE")
_NODE_TYPE = ("ntype", "_TYPE")
_log = logging.getLogger(__name__)


class Nodes:
    """Nodes of all types as entities 0..E-1: type after type, in DGL's order.

    ``types`` is (E,) long, or None where all are of one type; ``names`` are the types' names.
    """

    def __init__(self, graph: DGLGraph) -> None:
        sizes = [graph.num_nodes(name) for name in graph.ntypes]
        self.names: tuple[str, ...] = tuple(graph.ntypes)
        self.sizes = dict(zip(self.names, sizes, strict=True))
        self.offsets = dict(zip(self.names, accumulate([0, *sizes]), strict=False))
        self.total = sum(sizes)
        self.types: Tensor | None = None
        if len(sizes) > 1:
            self.types = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
        elif (field := _field(graph.ndata, _NODE_TYPE)) and graph.ndata[field].unique().numel() > 1:
            self.types = graph.ndata[field].to("cpu", torch.long, copy=True)
            self.names = tuple(str(i) for i in range(int(self.types.max()) + 1))

    def check_same(self, other: DGLGraph) -> None:
        """DataError unless another graph has the same nodes."""
        sizes = {name: other.num_nodes(name) for name in other.ntypes}
        if sizes != self.sizes:
            raise DataError(
                f"graphs of different nodes: {self.sizes} and {sizes}; give every graph the "
                "number of nodes when it is built"
            )

    def entity_names(self, given: Sequence[str] | Mapping[str, Sequence[str]] | None) -> list[str]:
        """One name for each entity; DataError where the given ones are too few or too many."""
        if given is None:
            if len(self.sizes) == 1:
                return [str(i) for i in range(self.total)]
            return [f"{name}:{i}" for name, size in self.sizes.items() for i in range(size)]
        if isinstance(given, Mapping):
            if set(given) != set(self.sizes):
                raise DataError(f"names for {sorted(given)}, node types {sorted(self.sizes)}")
            for kind, size in self.sizes.items():
                if len(given[kind]) != size:
                    raise DataError(f"{len(given[kind])} names for {size} nodes of type {kind!r}")
            given = [name for kind in self.sizes for name in given[kind]]
        if len(given) != self.total:
            raise DataError(f"{len(given)} entity names for {self.total} nodes")
        return list(given)


def read_graphs(
    graphs: tuple[DGLGraph, DGLGraph | None, DGLGraph | None],
    masks: Mapping[str, str] | None,
    entities: Sequence[str] | Mapping[str, Sequence[str]] | None,
    relations: Sequence[str] | None,
) -> dict[str, Any]:
    """Arguments of ``KnowledgeGraph`` for graphs of train, valid and test; see its ``from_dgl``."""
    given = [graph for graph in graphs if graph is not None]
    nodes = Nodes(graphs[0])
    for other in given[1:]:
        nodes.check_same(other)
    types = list(dict.fromkeys(kind for graph in given for kind in graph.canonical_etypes))
    fields = [_field(graph.edata, _EDGE_TYPE) for graph in given] if len(types) == 1 else []
    if any(fields) and not all(fields):
        raise DataError(f"relations are numbers in edata[{_EDGE_TYPE[0]!r}] in some graphs only")
    numbers = None if any(fields) else {kind: i for i, kind in enumerate(types)}
    if len(given) == 1:
        splits = _masked_splits(graphs[0], nodes, numbers, masks)
    elif masks is not None:
        raise DataError("give either masks or graphs for valid and test, not both")
    else:
        splits = [_all_triples(graph, nodes, numbers) for graph in graphs]
    if relations is None and numbers is None:
        largest = max((int(rows[:, 1].max()) for rows in splits if len(rows)), default=-1)
        relations = [str(number) for number in range(largest + 1)]
    elif relations is None:
        short = [name for _, name, _ in types]
        relations = [kind[1] if short.count(kind[1]) == 1 else ":".join(kind) for kind in types]
    elif numbers is not None and len(types) != len(relations):
        raise DataError(f"{len(relations)} relation names for {len(types)} edge types")
    return {
        "entities": Vocabulary(nodes.entity_names(entities), "entity"),
        "relations": Vocabulary(list(relations), "relation"),
        **dict(zip(SPLITS, splits, strict=True)),
        "node_types": nodes.types,
        "node_type_names": nodes.names,
        "edge_types": None if numbers is None else types,
    }


def _masked_splits(
    graph: DGLGraph,
    nodes: Nodes,
    numbers: Mapping[CanonicalType, int] | None,
    masks: Mapping[str, str] | None,
) -> list[Tensor]:
    """Triples (N, 3) of train, valid and test; all train where no masks are given or known."""
    chosen = _choose_masks(graph, masks)
    parts = []
    for kind in graph.canonical_etypes:
        data = graph.edges[kind].data
        found = {split: _mask(data[m], m) for split, m in chosen.items() if m in data}
        nothing = torch.zeros(graph.num_edges(kind), dtype=torch.bool)
        valid, test = found.get("valid", nothing), found.get("test", nothing)
        # Edge types without any mask train.
        implied = nothing if "train" in chosen and found else ~(valid | test)
        parts.append(torch.stack([found.get("train", implied), valid, test]))
    members = torch.cat(parts, 1)  # (3, M): which edges are in each split
    outside = int((~members.any(0)).sum())
    if outside:
        _log.warning("%d of %d edges are in no split and left out", outside, members.shape[1])
    triples = _all_triples(graph, nodes, numbers)
    # `to_dgl` noted rows on every edge; graphs of other origin have none.
    rows = [graph.edges[kind].data.get(ROW) for kind in graph.canonical_etypes]
    if any(part is None for part in rows):
        return [triples[member] for member in members]
    row = torch.cat([part.cpu() for part in rows])
    return [triples[member][row[member].argsort()] for member in members]


def _all_triples(
    graph: DGLGraph | None, nodes: Nodes, numbers: Mapping[CanonicalType, int] | None
) -> Tensor:
    """Triples (N, 3) of all edge types; ``numbers`` None: relations are numbers on the edges."""
    parts = [torch.empty((0, 3), dtype=torch.long)]
    if graph is None:
        return parts[0]
    for kind in graph.canonical_etypes:
        heads, tails = (ids.to("cpu", torch.long) for ids in graph.edges(etype=kind))
        if numbers is None:
            relations = relation_numbers(graph)
        else:
            relations = torch.full_like(heads, numbers[kind])
        heads, tails = heads + nodes.offsets[kind[0]], tails + nodes.offsets[kind[2]]
        parts.append(torch.stack([heads, relations, tails], 1))
    return torch.cat(parts)


def relation_numbers(graph: DGLGraph) -> Tensor:
    """(N,) the relation of each edge of a graph of one edge type, which notes them as numbers.

    Raises:
        DataError: they are no integers.
    """
    field = _field(graph.edata, _EDGE_TYPE)
    return as_integers(graph.edata[field].cpu(), f"edata[{field!r}]")


def _choose_masks(graph: DGLGraph, masks: Mapping[str, str] | None) -> dict[str, str]:
    """Edge feature of each split that has one; empty where none is given or known."""
    present = {name for kind in graph.canonical_etypes for name in graph.edges[kind].data}
    if masks is None:
        known = [{s: m for s, m in names.items() if m in present} for names in _KNOWN_MASKS]
        return max(known, key=len)
    wrong = [s for s in masks if s not in SPLITS] + [m for m in masks.values() if m not in present]
    if wrong:
        raise DataError(
            f"masks: no split or edge feature {wrong[0]!r}; splits are {', '.join(SPLITS)}, "
            f"features {', '.join(sorted(present)) or 'none'}"
        )
    return dict(masks)


def _mask(values: Tensor, name: str) -> Tensor:
    if values.dim() != 1 or not ((values == 0) | (values == 1)).all():
        raise DataError(f"the edge feature {name!r} is not a mask: one bool for each edge")
    return values.to("cpu", torch.bool)


def _field(data: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in data), None)


def edge_type(relation: int) -> CanonicalType:
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
    kinds = kg.node_types
    if kinds is not None and kg.edge_types is not None and types[0][0] in kg.node_type_names:
        members = [(kinds == i).nonzero().flatten() for i in range(len(kg.node_type_names))]
        sizes = dict(zip(kg.node_type_names, map(len, members), strict=True))
        for entities in members:
            local[entities] = torch.arange(len(entities))
        kinds = None  # DGL's own; what `ndata["ntype"]` gave stays a feature.
    rows = [(triples[:, 1] == r).nonzero().flatten() for r in range(kg.num_relations)]
    data = {
        t: (local[triples[at, 0]], local[triples[at, 2]]) for t, at in zip(types, rows, strict=True)
    }
    graph = dgl.heterograph(data, num_nodes_dict=sizes, idtype=torch.int64)
    for kind, at in zip(types, rows, strict=True):
        for name, values in features.items():
            graph.edges[kind].data[name] = values[at]
    if kinds is not None:
        graph.ndata["ntype"] = kinds.clone()
    return graph
