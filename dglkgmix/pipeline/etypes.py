"""Edge types of a DGL graph: by name, and which of them are another one read backwards."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.kg.dgl_edges import CanonicalType
from dglkgmix.kg.keys import as_ids

if TYPE_CHECKING:
    from dgl import DGLGraph

EdgeType = str | CanonicalType
EdgeIds = Tensor | Mapping[str, Tensor] | Mapping[CanonicalType, Tensor]
ReverseTypes = Mapping[str, str] | Mapping[CanonicalType, CanonicalType]


def check_graph(graph: Any, what: str) -> None:
    """DataError unless ``graph``, which ``what`` names, is a graph or a block of DGL's."""
    if not (hasattr(graph, "canonical_etypes") and hasattr(graph, "num_src_nodes")):
        raise DataError(
            f"{what} must be a DGL graph, not a {type(graph).__name__}: make one with "
            "dgl.heterograph, or of a KnowledgeGraph with its to_dgl()"
        )


def canonical(types: Sequence[CanonicalType], etype: EdgeType) -> CanonicalType:
    """The canonical edge type among ``types`` that ``etype`` names, in full or by its relation.

    Raises:
        UnknownNameError: there is none; the message lists close matches.
        DataError: several share the name.
    """
    fitting = [known for known in types if etype in (known, known[1])]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DataError(
            f"edge type {etype!r} stands for {' and '.join(map(str, fitting))}: name it in full"
        )
    name = etype if isinstance(etype, str) else str(etype[1])
    close = difflib.get_close_matches(name, [known[1] for known in types])
    hint = f"close matches: {', '.join(map(repr, close))}" if close else f"there are {list(types)}"
    raise UnknownNameError(f"unknown edge type {etype!r}; {hint}")


def by_type(graph: DGLGraph, eids: EdgeIds) -> dict[CanonicalType, Tensor]:
    """Edge ids of each canonical type, (N,) long on the CPU, every one checked to exist.

    Raises:
        UnknownNameError, DataError: an edge type that is not there, or ids that are no integers or
            come without a type where there are several.
        OutOfRangeError: an id that the type does not have.
    """
    types = graph.canonical_etypes
    if not isinstance(eids, Mapping):
        if len(types) != 1:
            raise DataError(f"edge ids without a type in a graph of {len(types)}: give a dict")
        eids = {types[0]: eids}
    named = {canonical(types, etype): ids for etype, ids in eids.items()}
    return {
        etype: as_ids(ids, f"edge of type {etype}", graph.num_edges(etype)).cpu()
        for etype, ids in named.items()
    }


def reverses(graph: DGLGraph, given: ReverseTypes | None) -> dict[CanonicalType, CanonicalType]:
    """Each reverse edge type with its original.

    ``given`` leads from originals to reverses, as DGL's ``reverse_etypes``; pairs that stand in
    both orders count once, in the first.

    Raises:
        ConfigError: a type that is its own reverse, or has several.
        DataError: a reverse type that does not hold the original's edges read backwards.
    """
    originals: dict[CanonicalType, CanonicalType] = {}
    for one, other in (given or {}).items():
        original = canonical(graph.canonical_etypes, one)
        reverse = canonical(graph.canonical_etypes, other)
        if originals.get(original) == reverse:
            continue
        taken = {*originals, *originals.values()}
        if original == reverse or original in taken or reverse in taken:
            raise ConfigError(
                f"reverse_etypes: {original} and {reverse} cannot be each other's reverse: a type "
                "belongs to one pair, and an undirected one to none"
            )
        _check_mirrored(graph, original, reverse)
        originals[reverse] = original
    return originals


def _check_mirrored(graph: DGLGraph, original: CanonicalType, reverse: CanonicalType) -> None:
    pairs = graph.edges(etype=original), graph.edges(etype=reverse)[::-1]
    size = graph.num_nodes(original[2])
    keys = [(heads.long() * size + tails).sort().values for heads, tails in pairs]
    same_types = (original[0], original[2]) == (reverse[2], reverse[0])
    if same_types and torch.equal(*keys):
        return
    raise DataError(
        f"reverse_etypes: {reverse} does not hold the edges of {original} read backwards; "
        "dgl.AddReverse(sym_new_etype=True) makes such types"
    )
