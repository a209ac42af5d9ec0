"""Mean embedding distances D_head and D_rel of low-degree triples (Shomer et al., 2023, 6.3)."""

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
    wanted = torch.zeros(len(pairs), dtype=torch.bool)
    wanted[edge_pair[low]] = True
    sizes = torch.unique_consecutive(pairs // stride, return_counts=True)[1]
    sums = torch.zeros(len(pairs), dtype=torch.float64)
    parts = (torch.split(column, sizes.tolist()) for column in (pairs % stride, wanted, sums))
    exact = "donot_use_mm_for_euclid_dist"  # the faster formula loses small distances
    for sources, asked, found in zip(*parts, strict=True):
        if len(sources) > 1 and asked.any():
            partners = vectors[sources]
            for rows in torch.split(asked.nonzero()[:, 0], max(1, BLOCK // len(sources))):
                # A part of sums: to itself a vector's distance is 0.
                found[rows] = torch.cdist(partners[rows], partners, compute_mode=exact).sum(1)
    others = torch.repeat_interleave(sizes, sizes) - 1
    return sums[edge_pair[low]], others[edge_pair[low]]
