"""Scores of each query against candidates of its own, without keeping the candidates' vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from dglkgmix.kernels.table import Table

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


def candidate_scores(query: Tensor, table: Table, candidates: Tensor) -> Tensor:
    """Scores (B, K) in float32 or wider; see :class:`CandidateScores`."""
    inputs = (query, table.anchor, table, candidates)
    scores: Tensor = CandidateScores.apply(*inputs)  # type: ignore[no-untyped-call]
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
