"""Where the ids of a DGL heterograph and those of a KnowledgeGraph meet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix._dgl import dgl
from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.kg.dgl_edges import CanonicalType, Nodes, relation_numbers
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.keys import as_ids, find, triple_keys
from dglkgmix.models.neighbourhood import with_reciprocals
from dglkgmix.pipeline.etypes import EdgeIds, ReverseTypes, by_type, check_graph, reverses

if TYPE_CHECKING:
    from dgl import DGLGraph


class GraphIds:
    """A DGL graph as a KnowledgeGraph, and the way between the two numberings.

    Nodes of all types become entities 0..E-1, type after type; edge types become relations
    0..R-1. As everywhere in the library each relation r has a reciprocal r + R, whether or not
    the graph holds edges for it: they count in degrees and are candidates for mixing. Where the
    graph does hold them, ``reverse_etypes`` says so; those types become the relations r + R
    instead of relations with reciprocals of their own.

    A graph of one edge type may have relations as numbers, in ``edata["etype"]`` or
    ``edata[dgl.ETYPE]``. Splits are masks or graphs (:meth:`KnowledgeGraph.from_dgl`); without
    either all edges train. Nothing of the graph is changed, nor must it change later.

    Args:
        graph: training edges, or all edges with masks.
        valid, test: held-out edges over the same nodes; masks are then not looked for.
        masks: names of edge features by split; {} ignores all masks.
        reverse_etypes: from edge types to those that hold the same edges read backwards, as DGL's
            ``reverse_etypes``.

    Attributes:
        graph: the graph itself.
        kg: the KnowledgeGraph; its entities are named as "drug:3".
        relations: relation id 0..2R-1 of each canonical edge type; empty where relations are
            numbers.
        has_reverse_types: whether the graph holds reciprocal edges of its own.

    Raises:
        DataError: graphs, masks or reverse types that do not fit together, or no training edge.
        ConfigError: a type with several reverses.
    """

    def __init__(
        self,
        graph: DGLGraph,
        valid: DGLGraph | None = None,
        test: DGLGraph | None = None,
        *,
        masks: Mapping[str, str] | None = None,
        reverse_etypes: ReverseTypes | None = None,
    ) -> None:
        for what, given in {"graph": graph, "valid": valid, "test": test}.items():
            if given is not None or what == "graph":
                check_graph(given, what)
        self.graph = graph
        self._nodes = Nodes(graph)
        originals = reverses(graph, reverse_etypes)
        plain = [_without(g, originals) for g in (graph, valid, test)]
        self.kg = KnowledgeGraph.from_dgl(*plain, masks=masks)
        self.relations = {etype: r for r, etype in enumerate(self.kg.edge_types or ())}
        self.has_reverse_types = bool(originals)
        if originals and not self.relations:
            raise DataError("reverse_etypes go with relations as edge types, not as numbers")
        for reverse, original in originals.items():
            self.relations[reverse] = self.relations[original] + self.kg.num_relations

    def entities(self, ntype: str, nodes: Any) -> Tensor:
        """Entity ids of nodes (N,) of a type.

        Raises:
            UnknownNameError: no such node type.
            OutOfRangeError: a node that the type does not have.
        """
        size = self._nodes.sizes.get(ntype)
        if size is None:
            raise UnknownNameError(f"unknown node type {ntype!r}; there are {self.graph.ntypes}")
        local = as_ids(nodes, f"node of type {ntype!r}", size).cpu()
        return local.add(self._nodes.offsets[ntype])

    def nodes(self, entities: Any) -> dict[str, Tensor]:
        """Nodes by type of entity ids (N,); only types that occur, each in the order given.

        Raises:
            OutOfRangeError: no such entity.
        """
        ids = as_ids(entities, "entity", self._nodes.total).cpu()
        found = {
            name: ids[(ids >= start) & (ids < start + self._nodes.sizes[name])] - start
            for name, start in self._nodes.offsets.items()
        }
        return {name: nodes for name, nodes in found.items() if len(nodes)}

    def triples(self, eids: EdgeIds, graph: DGLGraph | None = None) -> Tensor:
        """Triples (N, 3) of edges, held-out ones too; several types follow one another.

        ``graph``: another graph over the same nodes that the edge ids belong to.

        Raises:
            DataError: unknown edge types (UnknownNameError), or a graph of other nodes.
            OutOfRangeError: an edge that the type does not have.
        """
        if graph is None:
            graph = self.graph
        elif graph is not self.graph:
            self._nodes.check_same(graph)
        parts = [self._triples(graph, *item) for item in by_type(graph, eids).items()]
        return torch.cat([torch.empty((0, 3), dtype=torch.long), *parts])

    def rows(self, eids: EdgeIds) -> Tensor:
        """Rows (N,) of ``kg.edges`` that edges of the graph are; copies of an edge share one.

        Raises:
            DataError: unknown edge types, or an edge that does not train.
            OutOfRangeError: an edge that the type does not have.
        """
        parts = [torch.empty(0, dtype=torch.long)]
        for etype, ids in by_type(self.graph, eids).items():
            rows = self._rows[etype][ids]
            if len(rows) and rows.min() < 0:
                raise DataError(
                    f"edge {int(ids[rows.argmin()])} of type {etype} is no training edge: "
                    "give training edges alone"
                )
            parts.append(rows)
        return torch.cat(parts)

    def edges(self, rows: Any) -> dict[CanonicalType, Tensor]:
        """Edges of the graph that say what ``rows`` (P,) of ``kg.edges`` say, in either direction.

        All copies, and edges of reverse types: what a message passing must leave out to be
        ignorant of these triples, as ``exclude_eids`` of DGL's samplers.

        Raises:
            OutOfRangeError: no such row.
        """
        rows = as_ids(rows, "row of kg.edges", self.kg.num_edges).cpu()
        said = torch.zeros(self.kg.num_edges + 1, dtype=torch.bool)  # the last is for row -1
        said[with_reciprocals(rows, self.kg.num_edges)] = True
        found = {etype: said[of].nonzero().flatten() for etype, of in self._rows.items()}
        return {
            etype: ids.to(self.graph.idtype).to(self.graph.device)
            for etype, ids in found.items()
            if len(ids)
        }

    def stack(self, features: Mapping[str, Tensor]) -> Tensor:
        """Features (N, D) of the nodes of each type to features (E, D) of all entities.

        Raises:
            DataError: not exactly one row for each node of each type.
        """
        given = {name: len(values) for name, values in features.items()}
        if given != self._nodes.sizes:
            raise DataError(f"features of {given} nodes, but the graph has {self._nodes.sizes}")
        return torch.cat([features[name] for name in self._nodes.sizes])

    def split(self, features: Tensor) -> dict[str, Tensor]:
        """The inverse of :meth:`stack`, without a copy."""
        parts = torch.split(features, list(self._nodes.sizes.values()))
        return dict(zip(self._nodes.sizes, parts, strict=True))

    def _triples(self, graph: DGLGraph, etype: CanonicalType, eids: Tensor) -> Tensor:
        asked = eids.to(graph.device, graph.idtype)
        heads, tails = (ends.cpu().long() for ends in graph.find_edges(asked, etype=etype))
        heads, tails = heads + self._nodes.offsets[etype[0]], tails + self._nodes.offsets[etype[2]]
        return torch.stack([heads, self._relations(graph, etype, eids), tails], 1)

    def _relations(self, graph: DGLGraph, etype: CanonicalType, eids: Tensor) -> Tensor:
        if not self.relations:
            return relation_numbers(graph)[eids]
        if etype not in self.relations:
            raise UnknownNameError(f"edge type {etype} is none of {list(self.relations)}")
        return torch.full_like(eids, self.relations[etype])

    @cached_property
    def _rows(self) -> dict[CanonicalType, Tensor]:
        """Row of ``kg.edges`` of every edge of the graph, -1 where it does not train."""
        kg, sizes = self.kg, {t: self.graph.num_edges(t) for t in self.graph.canonical_etypes}
        edges = torch.cat([self._triples(self.graph, t, torch.arange(n)) for t, n in sizes.items()])
        keys = triple_keys(torch.cat([kg.edges, edges]), kg.num_entities, kg.num_query_relations)
        known, order = keys[: kg.num_edges].sort()
        position = find(known, keys[kg.num_edges :])
        rows = torch.where(position < 0, -1, order[position])
        return dict(zip(sizes, torch.split(rows, list(sizes.values())), strict=True))


def _without(graph: DGLGraph | None, left_out: Mapping[CanonicalType, Any]) -> DGLGraph | None:
    """The graph without some of its edge types; all of its nodes stay."""
    if graph is None or not left_out:
        return graph
    kept = [etype for etype in graph.canonical_etypes if etype not in left_out]
    sizes = {name: graph.num_nodes(name) for name in graph.ntypes}
    edges = {etype: graph.edges(etype=etype, order="eid") for etype in kept}
    result = dgl.heterograph(edges, num_nodes_dict=sizes, idtype=graph.idtype, device=graph.device)
    for etype in kept:
        result.edges[etype].data.update(graph.edges[etype].data)
    return result
