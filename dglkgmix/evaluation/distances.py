"""Mean embedding distances D_head and D_rel of low-degree triples (method, Embedding distance)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

BLOCK = 2**22


def embedding_distances(
    kg: KnowledgeGraph, entities: Tensor, relations: Tensor, threshold: int = 5
) -> dict[str, Any]:
    """How far what is mixed lies apart.

    For each training triple (h, r, t), reciprocal ones included, with d_tail(t, r) below the
    threshold: the mean Euclidean distance of x_h to the other heads of triples into t, each
    counted once, and of x_r to the other relations into t.

    ``entities`` (E, D) and ``relations`` (2R, D) are vectors, ``threshold`` is η.

    Returns:
        ``head`` and ``relation``: means over the triples that have any such other head or
        relation, None where no triple has; ``head_triples`` and ``relation_triples``, their
        numbers.
    """
    low = kg.degrees.edge_tail_relation < threshold
    head, relation, tail = kg.edges.unbind(1)
    found: dict[str, Any] = {}
    for name, source, vectors in (("head", head, entities), ("relation", relation, relations)):
        sums, others = _partner_distances(source, tail, low, vectors.detach().double())
        counted = others > 0
        found[name] = float((sums[counted] / others[counted]).mean()) if counted.any() else None
        found[f"{name}_triples"] = int(counted.sum())
    return found


def _partner_distances(
    source: Tensor, tail: Tensor, low: Tensor, vectors: Tensor
) -> tuple[Tensor, Tensor]:
    """For each low triple: sum of distances to the tail's other sources, and their number."""
    stride = int(source.max()) + 1
    pairs, edge_pair = torch.unique(tail * stride + source, return_inverse=True)  # by tail
    pair_tail, pair_source = pairs // stride, pairs % stride
    wanted = torch.zeros(len(pairs), dtype=torch.bool)
    wanted[edge_pair[low]] = True
    _, sizes = torch.unique_consecutive(pair_tail, return_counts=True)
    sums = torch.zeros(len(pairs), dtype=torch.float64)
    start = 0
    for size in sizes.tolist():
        span = slice(start, start + size)
        start += size
        asked = span.start + wanted[span].nonzero()[:, 0]
        if size > 1 and len(asked):
            sums[asked] = _sums(vectors[pair_source[asked]], vectors[pair_source[span]])
    others = torch.repeat_interleave(sizes, sizes) - 1
    return sums[edge_pair[low]], others[edge_pair[low]]


def _sums(asked: Tensor, partners: Tensor) -> Tensor:
    """(n,) sums of distances of each (n, D) vector to all (m, D) partners; to itself it is 0."""
    rows = max(1, BLOCK // len(partners))
    exact = "donot_use_mm_for_euclid_dist"  # the faster formula loses small distances
    parts = [asked[start : start + rows] for start in range(0, len(asked), rows)]
    return torch.cat([torch.cdist(p, partners, compute_mode=exact).sum(1) for p in parts])
