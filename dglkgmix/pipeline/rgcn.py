"""R-GCN as a plain module over DGL graphs and blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.kg.dgl_edges import CanonicalType
from dglkgmix.models.neighbourhood import Neighbourhood
from dglkgmix.models.rgcn_layer import BasisMatrices, BlockMatrices, RGCNLayer
from dglkgmix.pipeline.etypes import canonical, check_graph

if TYPE_CHECKING:
    from dgl import DGLGraph

# Of each node type: sources that are targets too, which come first, and sources that are not.
Sizes = dict[str, tuple[int, int]]
MATRICES = {"basis": BasisMatrices, "block": BlockMatrices}


class HeteroRGCN(nn.Module):
    """Layers of relational graph convolution over any DGL heterograph (Schlichtkrull et al., 2018).

    Messages pass along the edges that the graph has, each edge type with a matrix of its own,
    divided by the number of edges of the type that arrive at a node. To let them pass both ways,
    add reverse edge types (``dgl.AddReverse(sym_new_etype=True)``). Dropout thins the input of
    each layer; ReLU stands between layers.

    For embedding tables, and edges hidden by their rows, there is
    :class:`dglkgmix.models.rgcn.RGCN`, over the KnowledgeGraph of a DGL graph.

    Args:
        etypes: canonical edge types, ``graph.canonical_etypes``.
        dim: D, of the features of all node types and all layers.
        layers: how many, at least 1.
        decomposition: "basis" or "block".
        bases: number of bases or of diagonal blocks.
        dropout: on the input of each layer.

    Raises:
        ConfigError: an option out of its range.
        DataError: ``etypes`` that are no canonical edge types.
    """

    def __init__(
        self,
        etypes: Sequence[CanonicalType],
        dim: int,
        *,
        layers: int = 1,
        decomposition: Literal["basis", "block"] = "basis",
        bases: int = 30,
        dropout: float = 0.0,
    ) -> None:
        if min(dim, layers, bases) < 1:
            raise ConfigError(f"dim {dim}, layers {layers} and bases {bases} must be at least 1")
        if decomposition not in MATRICES:
            raise ConfigError(f"decomposition is {decomposition!r}: use one of {list(MATRICES)}")
        super().__init__()
        self.etypes = _checked(etypes)
        self.dim = dim
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            RGCNLayer(MATRICES[decomposition](len(self.etypes), dim, bases), dim)
            for _ in range(layers)
        )

    def forward(
        self, graph: DGLGraph | Sequence[DGLGraph], features: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """Features (N, D) of each node type in, features (N', D) of each node type out.

        Args:
            graph: a graph, for all layers, or a list of DGL blocks, one for each layer. The
                targets of a block are its first sources, as DGL's samplers make them.
            features: of all nodes of the graph, or of the source nodes of the first block.

        Raises:
            DataError: features or blocks that do not fit, or an unknown edge type
                (UnknownNameError).
        """
        parts = list(graph) if isinstance(graph, Sequence) else [graph] * len(self.layers)
        for part in parts:
            check_graph(part, "graph")
            _check_targets(part)
        if not isinstance(features, Mapping):
            raise DataError(
                f"features must be a dict from node types to tensors, not a "
                f"{type(features).__name__}: of a single type, {{graph.ntypes[0]: features}}"
            )
        if len(parts) != len(self.layers):
            raise DataError(f"{len(parts)} blocks for {len(self.layers)} layers")
        result = dict(features)
        for depth, (layer, part) in enumerate(zip(self.layers, parts, strict=True)):
            if depth:
                result = {ntype: torch.relu(values) for ntype, values in result.items()}
            result = self._layer(layer, part, result)
        return result

    def _layer(
        self, layer: nn.Module, graph: DGLGraph, features: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        sizes = _sizes(graph)
        flat = self.dropout(_stack(sizes, features, self.dim))
        hood = self._neighbourhood(graph, sizes)
        with torch.autocast(flat.device.type, enabled=False):
            encoded, _ = layer(flat, flat[:0], hood, None)
        targets = [inner for inner, _ in sizes.values()]
        return dict(zip(sizes, encoded.split(targets), strict=True))

    def _neighbourhood(self, graph: DGLGraph, sizes: Sizes) -> Neighbourhood:
        """The graph's edges between rows of stacked features, see :func:`_stack`."""
        inner, outer = (sum(part) for part in zip(*sizes.values(), strict=True))
        known = {etype: i for i, etype in enumerate(self.etypes)}
        numbers = [
            known[etype] if etype in known else known[canonical(self.etypes, etype)]
            for etype in graph.canonical_etypes
        ]
        sources, targets, types = _edges(graph, sizes)
        relations = torch.tensor(numbers, dtype=torch.long)[types]
        return Neighbourhood.build(
            (sources, targets), relations, len(self.etypes), inner + outer, inner
        )


def _checked(etypes: Sequence[CanonicalType]) -> tuple[CanonicalType, ...]:
    """Canonical edge types, or a DataError that says where they are to be had."""
    found = tuple(etypes) if isinstance(etypes, Sequence) else ()
    if not found or not all(isinstance(etype, tuple) and len(etype) == 3 for etype in found):
        shown = type(etypes).__name__ if not found else repr(etypes)
        raise DataError(
            f"etypes must be canonical edge types, (source, name, target) each, not {shown}: "
            "pass graph.canonical_etypes"
        )
    return found


def _check_targets(graph: DGLGraph) -> None:
    """DataError unless a block's targets are its first sources, as far as the block says."""
    if not graph.is_block:
        return
    for ntype in graph.dsttypes:
        both: tuple[Tensor | None, Tensor | None] = (None, None)
        targets, sources = graph.num_dst_nodes(ntype), 0
        if ntype in graph.srctypes:
            sources = graph.num_src_nodes(ntype)
            both = graph.srcnodes[ntype].data.get("_ID"), graph.dstnodes[ntype].data.get("_ID")
        if targets > sources or (
            both[0] is not None
            and both[1] is not None
            and not torch.equal(both[0][:targets], both[1])
        ):
            raise DataError(
                f"block: the {targets} target nodes of type {ntype!r} must be the first of its "
                f"{sources} source nodes, as each takes its own features along; make blocks with "
                "dgl.to_block(…, include_dst_in_src=True) or DGL's neighbour samplers"
            )


def _sizes(graph: DGLGraph) -> Sizes:
    if not graph.is_block:
        return {ntype: (graph.num_nodes(ntype), 0) for ntype in graph.ntypes}
    inner = {ntype: graph.num_dst_nodes(ntype) for ntype in graph.dsttypes}
    all_ = {ntype: graph.num_src_nodes(ntype) for ntype in graph.srctypes}
    return {
        ntype: (inner.get(ntype, 0), all_.get(ntype, 0) - inner.get(ntype, 0))
        for ntype in dict.fromkeys([*graph.dsttypes, *graph.srctypes])
    }


def _edges(graph: DGLGraph, sizes: Sizes) -> tuple[Tensor, Tensor, Tensor]:
    """Source rows, target rows and positions of the edge types of all edges, (M,) each.

    DGL joins the types at once, in what ``graph[:, :, :]`` does for graphs, but not for blocks:
    reading them one by one costs more than the rest of a layer where each has few edges.
    """
    flat = graph._graph.flatten_relations(list(range(len(graph.canonical_etypes))))
    first, target, other = {}, 0, sum(inner for inner, _ in sizes.values())
    for ntype, (inner, outer) in sizes.items():
        first[ntype] = target, other - inner
        target, other = target + inner, other + outer
    shifts = torch.tensor([first[ntype] for ntype in graph.ntypes], dtype=torch.long)
    inner_sizes = torch.tensor([sizes[ntype][0] for ntype in graph.ntypes], dtype=torch.long)
    sources, targets, _ = (ids.to("cpu", torch.long) for ids in flat.graph.edges(0))
    types = _ids(flat.induced_etype)
    kinds, ids = _ids(flat.induced_dsttype), _ids(flat.induced_dstid)
    _check_reached(graph, targets, kinds, types)
    target_rows = (shifts[kinds, 0] + ids)[targets]
    kinds, ids = _ids(flat.induced_srctype), _ids(flat.induced_srcid)
    source_rows = shifts[kinds, (ids >= inner_sizes[kinds]).long()] + ids
    return source_rows[sources], target_rows, types


def _ids(array: Any) -> Tensor:
    return torch.from_numpy(array.asnumpy()).long()


def _check_reached(graph: DGLGraph, targets: Tensor, kinds: Tensor, types: Tensor) -> None:
    """DataError where edges of a block reach nodes that are not its targets.

    Of M edges: ``targets`` are positions in ``kinds``, the node types of N targets (DGL gives such
    nodes none), ``types`` edge types.
    """
    wanted = torch.tensor([graph.get_ntype_id_from_dst(e[2]) for e in graph.canonical_etypes])
    missing = (targets < 0) | (targets >= len(kinds))
    reached = torch.cat([kinds, torch.tensor([-1])])[targets.masked_fill(missing, len(kinds))]
    outside = reached != wanted[types]
    if outside.any():
        raise DataError(
            f"block: {int(outside.sum())} of {len(targets)} edges reach nodes that are not its "
            "targets: pass these nodes to dgl.to_block, too, or keep only the edges that reach "
            "its targets, dgl.in_subgraph(graph, targets)"
        )


def _stack(sizes: Sizes, features: Mapping[str, Tensor], dim: int) -> Tensor:
    """Features (S, D) of all sources: the targets among them type after type, then the others."""
    wanted = {ntype: sum(size) for ntype, size in sizes.items() if sum(size)}
    given = {ntype: tuple(values.shape) for ntype, values in features.items() if len(values)}
    if given != {ntype: (size, dim) for ntype, size in wanted.items()}:
        raise DataError(
            f"features of shapes {given}, but each type needs (nodes, {dim}) for {wanted}"
        )
    inner = [features[ntype][: sizes[ntype][0]] for ntype in sizes if ntype in wanted]
    outer = [features[ntype][sizes[ntype][0] :] for ntype in sizes if ntype in wanted]
    return torch.cat([*inner, *outer])
