"""Losses of 1-N batches: each query against all entities.

Letters: B queries, E entities, D dimension, P positives. All return the sum of their terms, a
scalar; :func:`dglkgmix.losses.targets.reduced` makes means of sums.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.kernels.fused import FusedScores, FusedTerms
from dglkgmix.kernels.partition import RowStatistics
from dglkgmix.kernels.table import Table
from dglkgmix.losses.pointwise import Terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Offsets, Positives
from dglkgmix.sampling.rivals import Rivals


def one_to_n_bce(
    query: Tensor, table: Table, bias: Tensor | None, positives: Positives, terms: Terms
) -> Tensor:
    """Binary cross-entropy of the scores ``query @ table.T + bias``.

    Shapes: query (B, D), table (E, D), bias (E,). Nothing of size B x E is kept.
    """
    inputs = (query, table.anchor, bias, table, positives, terms)
    total: Tensor = FusedTerms.apply(*inputs)  # type: ignore[no-untyped-call]
    return total


def one_to_n_bce_scores(scores: Tensor, positives: Positives, terms: Terms) -> Tensor:
    """Binary cross-entropy of given scores (B, E)."""
    inputs = (scores, positives, terms)
    total: Tensor = FusedScores.apply(*inputs)  # type: ignore[no-untyped-call]
    return total


def one_to_n_ce(
    query: Tensor,
    table: Table,
    bias: Tensor | None,
    positives: Positives,
    softmax: Softmax,
    *,
    offsets: Offsets | None = None,
    rivals: Rivals | None = None,
) -> Tensor:
    """Softmax cross-entropy of each positive over the scores ``query @ table.T + bias``.

    Shapes: query (B, D), table (E, D), bias (E,). ``offsets`` are added to scores (logit
    adjustment). Positives of one row share its scores. With ``rivals``, among which all tails are
    and stand for themselves, log Σ exp is theirs; what smoothing sums stays that of all.
    """
    # First, so that going back it adds to a gradient that is already there.
    sums = _row_sums(query, table, bias) if softmax.smoothing else None
    tails = positives.tails
    if rivals is not None:
        table, tails = Table(table.rows(rivals.ids)), rivals.places(tails)
        bias = rivals.log_counts + (0 if bias is None else bias.index_select(0, rivals.ids))
    inputs = (query, table.anchor, bias, table, positives.rows, tails, offsets)
    log_partition, picked = RowStatistics.apply(*inputs)  # type: ignore[no-untyped-call]
    return _cross_entropy(log_partition, picked, sums, positives, softmax, offsets)


def one_to_n_ce_scores(
    scores: Tensor,
    positives: Positives,
    softmax: Softmax,
    *,
    offsets: Offsets | None = None,
    rivals: Rivals | None = None,
) -> Tensor:
    """Softmax cross-entropy of each positive over given scores (B, E).

    With ``rivals``, among which all tails are and stand for themselves, scores (B, C) are theirs;
    what smoothing sums is an estimate, too.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    counts, tails = scores.new_ones(scores.shape[1]), positives.tails
    if rivals is not None:
        counts, tails = rivals.log_counts.exp().to(scores), rivals.places(tails)
    sums = scores @ counts if softmax.smoothing else None
    if rivals is not None:
        scores = scores + rivals.log_counts
    if offsets is not None:
        scores = scores + _dense(offsets, scores)
    places = positives.rows * scores.shape[1] + tails
    picked = scores.reshape(-1).gather(0, places)
    return _cross_entropy(scores.logsumexp(1), picked, sums, positives, softmax, offsets)


def _cross_entropy(  # noqa: PLR0917 - small tensors of one loss
    log_partition: Tensor,
    picked: Tensor,
    sums: Tensor | None,
    positives: Positives,
    softmax: Softmax,
    offsets: Offsets | None,
) -> Tensor:
    """From log Σ exp (B,) and the positives' scores (P,), with offsets, and sums (B,) without."""
    rows = positives.rows
    totals: Tensor | float = 0.0
    if sums is not None:
        if offsets is not None:
            sums = sums.index_add(0, offsets.rows, offsets.values.to(sums.dtype))
        totals = sums.index_select(0, rows)
    terms = softmax.terms(
        log_partition.index_select(0, rows),
        picked,
        totals,
        softmax.num_entities,
        weights=positives.weights,
    )
    return terms.sum()


def _row_sums(query: Tensor, table: Table, bias: Tensor | None) -> Tensor:
    """Sum of each row of scores (B,), without the scores."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        sums = torch.mv(query.to(dtype), table.sum().to(dtype))
    return sums if bias is None else sums + bias.sum()


def _dense(offsets: Offsets, scores: Tensor) -> Tensor:
    dense = torch.zeros_like(scores)
    dense[offsets.rows, offsets.tails] = offsets.values.to(scores.dtype)
    return dense
