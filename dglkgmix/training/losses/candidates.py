"""Scores of each query against candidates of its own, without keeping the candidates' vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

# Numbers gathered at once on the CPU: 2 MiB of float32 stay in its caches.
_CPU_BLOCK = 2**19
_DEVICE_BLOCK = 2**28


class CandidateScores(Function):
    """Scores (B, K): ``query[b] · entities[candidates[b, k]]``.

    The plain way, a gather and a batched product, keeps B x K vectors and spends most of its time
    on a matrix-vector product and on scattering their gradients: this one takes about a quarter
    of it.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, entities: Tensor, candidates: Tensor, sparse: bool
    ) -> Tensor:
        """Query (B, D), entities (E, D), candidates (B, K) long to scores (B, K).

        With ``sparse``, the gradient of ``entities`` is a sparse tensor.
        """
        wide = query.to(torch.promote_types(query.dtype, torch.float32))
        scores = wide.new_empty(candidates.shape)
        # What is gathered is used once: casting it for a faster product would not pay.
        with torch.autocast(query.device.type, enabled=False):
            for rows in _blocks(candidates, query):
                table = _vectors(entities, candidates[rows], wide)
                product = torch.bmm(wide[rows].unsqueeze(1), table.transpose(1, 2))
                scores[rows] = product.squeeze(1)
        ctx.save_for_backward(wide, entities, candidates)
        ctx.sparse = sparse
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Upstream gradient (B, K) to those of query and entities."""
        query, entities, candidates = ctx.saved_tensors
        by_query = by_entity = None
        if ctx.needs_input_grad[0]:
            by_query = _query_gradient(upstream, query, entities, candidates)
        if ctx.needs_input_grad[1]:
            gradient = _sparse_gradient if ctx.sparse else _entity_gradient
            by_entity = gradient(upstream, query, entities, candidates)
        return by_query, by_entity, None, None


def candidate_scores(
    query: Tensor, entities: Tensor, candidates: Tensor, *, sparse: bool = False
) -> Tensor:
    """Scores (B, K) in float32 or wider; see :class:`CandidateScores`."""
    inputs = (query, entities, candidates, sparse)
    scores: Tensor = CandidateScores.apply(*inputs)  # type: ignore[no-untyped-call]
    return scores


def _query_gradient(
    upstream: Tensor, query: Tensor, entities: Tensor, candidates: Tensor
) -> Tensor:
    gradient = torch.empty_like(query)
    for rows in _blocks(candidates, query):
        table = _vectors(entities, candidates[rows], query)
        gradient[rows] = torch.bmm(upstream[rows].unsqueeze(1), table).squeeze(1)
    return gradient


def _entity_gradient(
    upstream: Tensor, query: Tensor, entities: Tensor, candidates: Tensor
) -> Tensor:
    gradient = query.new_zeros(entities.shape)
    for rows in _blocks(candidates, query):
        gradient.index_add_(0, candidates[rows].reshape(-1), _outer(upstream[rows], query[rows]))
    return gradient


def _sparse_gradient(
    upstream: Tensor, query: Tensor, entities: Tensor, candidates: Tensor
) -> Tensor:
    where = candidates.reshape(1, -1)
    values = _outer(upstream, query)
    return torch.sparse_coo_tensor(where, values, entities.shape, check_invariants=False)


def _outer(upstream: Tensor, query: Tensor) -> Tensor:
    """(B, K) and (B, D) to (B * K, D)."""
    return (upstream.unsqueeze(2) * query.unsqueeze(1)).view(-1, query.shape[1])


def _vectors(entities: Tensor, candidates: Tensor, like: Tensor) -> Tensor:
    """Vectors (b, K, D) of candidates (b, K)."""
    table = entities.index_select(0, candidates.reshape(-1)).to(like.dtype)
    return table.view(*candidates.shape, -1)


def _blocks(candidates: Tensor, query: Tensor) -> Iterator[slice]:
    size = _CPU_BLOCK if query.device.type == "cpu" else _DEVICE_BLOCK
    step = max(1, size // max(1, candidates.shape[1] * query.shape[1]))
    for start in range(0, len(candidates), step):
        yield slice(start, start + step)
