"""Scores of queries against candidates, without keeping the candidates' vectors.

One product with all entities, or a gather and small products: what is cheaper by the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from dglkgmix.kernels.products import Gradients, Products
from dglkgmix.kernels.table import Table

# A gathered candidate costs, gradients included, at least as much as this many scores of a product
# with all entities. Steps of ConvE by query, float32, d = 200, batch 512: 60 ms against 66
# with 54 scores for each candidate (CoDEx-M), 48 against 59 with 46 (FB15k-237). More on a GPU.
_ADVANTAGE = 60
_DEVICE_ADVANTAGE = 100
# Numbers gathered at once on the CPU: 2 MiB of float32 stay in its caches.
_CPU_BLOCK = 2**19
_DEVICE_BLOCK = 2**28


class CandidateScores(Function):
    """Scores (B, K): ``query[b] · table[candidates[b, k]]``.

    The plain way, a gather and a batched product, keeps B x K vectors and spends most of its time
    on a matrix-vector product and on scattering their gradients: this one takes about a quarter
    of it.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, _: Tensor, table: Table, candidates: Tensor) -> Tensor:
        """Query (B, D), the table's anchor, table (E, D), candidates (B, K) to scores (B, K)."""
        wide = query.to(torch.promote_types(query.dtype, torch.float32))
        scores = wide.new_empty(candidates.shape)
        # What is gathered is used once: casting it for a faster product would not pay.
        with torch.autocast(query.device.type, enabled=False):
            for rows in _blocks(candidates, query):
                vectors = _vectors(table.values, candidates[rows], wide)
                product = torch.bmm(wide[rows].unsqueeze(1), vectors.transpose(1, 2))
                scores[rows] = product.squeeze(1)
        ctx.save_for_backward(wide, table.values, candidates)
        ctx.gradient = table.gradient
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Upstream gradient (B, K) to that of query, and into the table's."""
        query, entities, candidates = ctx.saved_tensors
        wants_query, wants_table = ctx.needs_input_grad[:2]
        by_query = torch.empty_like(query) if wants_query else None
        for rows in _blocks(candidates, query):
            if by_query is not None:
                vectors = _vectors(entities, candidates[rows], query)
                by_query[rows] = torch.bmm(upstream[rows].unsqueeze(1), vectors).squeeze(1)
            if wants_table:
                values = upstream[rows].unsqueeze(2) * query[rows].unsqueeze(1)
                ids = candidates[rows].reshape(-1)
                ctx.gradient.add_rows(ids, values.view(-1, query.shape[1]))
        return by_query, None, None, None


class PickedScores(Function):
    """The same scores, picked from those of all queries (Q, D) against all entities."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, _: Tensor, table: Table, candidates: Tensor, rows: Tensor
    ) -> Tensor:
        """Query (Q, D), the table's anchor, table (E, D), candidates (B, K) to scores (B, K).

        ``rows`` (B,) is the query of each row of candidates.
        """
        ctx.products, ctx.table = Products(query, table, None), table
        scores = ctx.products.scores(slice(None), ctx.products.buffer(len(table)))
        ctx.places = (candidates * len(query) + rows.unsqueeze(1)).view(-1)
        picked: Tensor = scores.view(-1).index_select(0, ctx.places).to(ctx.products.wide)
        return picked.view_as(candidates)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Upstream gradient (B, K) to that of query, and into the table's."""
        products = ctx.products
        gradient = upstream.new_zeros(len(ctx.table), len(products.query))
        gradient.view(-1).index_add_(0, ctx.places, upstream.reshape(-1))
        gradients = Gradients(products, (*ctx.needs_input_grad[:2], False))
        gradients.add(slice(None), gradient.to(products.dtype))
        return *gradients.give(ctx.table)[:2], None, None, None


def candidate_scores(
    query: Tensor, table: Table, candidates: Tensor, rows: Tensor | None = None
) -> Tensor:
    """Scores (B, K) in float32 or wider.

    Args:
        query: (Q, D).
        table: (E, D).
        candidates: (B, K) long, rows of the table.
        rows: (B,) long, the query of each row of candidates; None where Q = B, each its own.
    """
    advantage = _ADVANTAGE if query.device.type == "cpu" else _DEVICE_ADVANTAGE
    scores: Tensor
    if len(query) * len(table) <= advantage * candidates.numel():
        if rows is None:
            rows = torch.arange(len(query), device=query.device)
        inputs = (query, table.anchor, table, candidates, rows)
        scores = PickedScores.apply(*inputs)  # type: ignore[no-untyped-call]
        return scores
    if rows is not None:
        query = query.index_select(0, rows)
    scores = CandidateScores.apply(query, table.anchor, table, candidates)  # type: ignore[no-untyped-call]
    return scores


def _vectors(entities: Tensor, candidates: Tensor, like: Tensor) -> Tensor:
    """Vectors (b, K, D) of candidates (b, K)."""
    table = entities.index_select(0, candidates.reshape(-1)).to(like.dtype)
    return table.view(*candidates.shape, -1)


def _blocks(candidates: Tensor, query: Tensor) -> Iterator[slice]:
    size = _CPU_BLOCK if query.device.type == "cpu" else _DEVICE_BLOCK
    step = max(1, size // max(1, candidates.shape[1] * query.shape[1]))
    for start in range(0, len(candidates), step):
        yield slice(start, start + step)
