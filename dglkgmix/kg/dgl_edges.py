"""Nodes, edges and splits as DGL graphs hold them, in ids of a KnowledgeGraph."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.errors import DataError
from dglkgmix.kg.graph import SPLITS

if TYPE_CHECKING:
    from dgl import DGLGraph

CanonicalType = tuple[str, str, str]
MASKS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
ROW = "split_row"
# `dgl.data` sets mark the given edges with the first three; where reverse edges were added, the
# plain masks of such a set cover these too.
_KNOWN_MASKS = (
    {"train": "train_edge_mask", "valid": "valid_edge_mask", "test": "test_edge_mask"},
    MASKS,
    {"train": "train_mask", "valid": "valid_mask", "test": "test_mask"},
)
# What `dgl.data` and `dgl.to_homogeneous` call the types of edges and nodes
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
            given = [name for kind in self.sizes for name in self._of_type(kind, given[kind])]
        if len(given) != self.total:
            raise DataError(f"{len(given)} entity names for {self.total} nodes")
        return list(given)

    def _of_type(self, kind: str, names: Sequence[str]) -> Sequence[str]:
        if len(names) != self.sizes[kind]:
            raise DataError(f"{len(names)} names for {self.sizes[kind]} nodes of type {kind!r}")
        return names


def edge_types_of(graphs: Sequence[DGLGraph]) -> list[CanonicalType]:
    """Canonical edge types of all graphs, in order of first appearance."""
    return list(dict.fromkeys(kind for graph in graphs for kind in graph.canonical_etypes))


def is_numbered(graphs: Sequence[DGLGraph], types: Sequence[CanonicalType]) -> bool:
    """Whether relations are numbers on the edges rather than edge types."""
    if len(types) != 1:
        return False
    fields = [_field(graph.edata, _EDGE_TYPE) for graph in graphs]
    if any(fields) and not all(fields):
        raise DataError(f"relations are numbers in edata[{_EDGE_TYPE[0]!r}] in some graphs only")
    return all(fields)


def read_splits(
    graphs: Sequence[DGLGraph | None],
    masks: Mapping[str, str] | None,
    nodes: Nodes,
    types: Sequence[CanonicalType] | None,
) -> list[Tensor]:
    """Triples (N, 3) of train, valid and test; ``types`` None means numbered relations."""
    numbers = None if types is None else {kind: i for i, kind in enumerate(types)}
    if graphs[1] is not None or graphs[2] is not None:
        if masks is not None:
            raise DataError("give either masks or graphs for valid and test, not both")
        return [_all_triples(graph, nodes, numbers) for graph in graphs]
    graph = graphs[0]
    assert graph is not None  # noqa: S101 - for mypy
    chosen = _choose_masks(graph, masks)
    if not chosen:
        return [_all_triples(graph, nodes, numbers), *_no_triples(2)]
    triples = _all_triples(graph, nodes, numbers)
    members = _memberships(graph, chosen)
    outside = int((~torch.stack(members).any(0)).sum())
    if outside:
        _log.warning("%d of %d edges are in no split and left out", outside, len(triples))
    rows = _rows(graph)
    return [_in_order(triples, member, rows) for member in members]


def _all_triples(
    graph: DGLGraph | None, nodes: Nodes, numbers: Mapping[CanonicalType, int] | None
) -> Tensor:
    if graph is None:
        return _no_triples(1)[0]
    parts = []
    for kind in graph.canonical_etypes:
        heads, tails = (ids.to("cpu", torch.long) for ids in graph.edges(etype=kind))
        if numbers is None:
            field = _field(graph.edata, _EDGE_TYPE)
            relations = graph.edata[field].to("cpu", torch.long)
        else:
            relations = torch.full_like(heads, numbers[kind])
        heads, tails = heads + nodes.offsets[kind[0]], tails + nodes.offsets[kind[2]]
        parts.append(torch.stack([heads, relations, tails], 1))
    return torch.cat([*_no_triples(1), *parts])


def _no_triples(count: int) -> list[Tensor]:
    return [torch.empty((0, 3), dtype=torch.long) for _ in range(count)]


def _choose_masks(graph: DGLGraph, masks: Mapping[str, str] | None) -> dict[str, str]:
    """Edge feature of each split that has one; empty where nothing was asked for or found."""
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


def _memberships(graph: DGLGraph, masks: Mapping[str, str]) -> list[Tensor]:
    """For each split which edges (M,) are in it. Edge types without any mask train."""
    members: list[list[Tensor]] = [[], [], []]
    for kind in graph.canonical_etypes:
        data, count = graph.edges[kind].data, graph.num_edges(kind)
        found = {s: _mask(data[m], m) for s, m in masks.items() if m in data}
        nothing = torch.zeros(count, dtype=torch.bool)
        held_out = [found.get(s, nothing) for s in SPLITS[1:]]
        implied = nothing if "train" in masks and found else ~(held_out[0] | held_out[1])
        train = found.get("train", implied)
        for split, part in zip(members, [train, *held_out], strict=True):
            split.append(part)
    return [torch.cat(parts) for parts in members]


def _mask(values: Tensor, name: str) -> Tensor:
    if values.dim() != 1 or not ((values == 0) | (values == 1)).all():
        raise DataError(f"the edge feature {name!r} is no mask: one bool for each edge")
    return values.to("cpu", torch.bool)


def _rows(graph: DGLGraph) -> Tensor | None:
    """Rows that `to_dgl` noted on every edge; None for graphs of other origin."""
    parts = [graph.edges[kind].data.get(ROW) for kind in graph.canonical_etypes]
    if any(part is None for part in parts):
        return None
    return torch.cat([part.cpu() for part in parts if part is not None])


def _in_order(triples: Tensor, member: Tensor, rows: Tensor | None) -> Tensor:
    if rows is None:
        return triples[member]
    return triples[member][rows[member].argsort()]


def _field(data: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in data), None)
