"""Losses of 1-K batches: each triple against its K negatives, and synthetic samples.

Letters: B triples, K negatives, S synthetic samples. All return the sum of their terms, a scalar.
"""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.losses.pointwise import Terms
from dglkgmix.losses.softmax import Softmax


def one_to_k_bce(
    positive: Tensor,
    negatives: Tensor,
    mask: Tensor,
    terms: Terms,
    *,
    weights: Tensor | None = None,
) -> Tensor:
    """Binary cross-entropy of scores of true triples (B,) and of their negatives (B, K).

    ``mask`` (B, K) is False where a negative does not count; ``weights`` (B,) are the positives'.
    """
    true = terms.positive(positive)
    if weights is not None:
        true = true * weights
    return true.sum() + (terms.negative(negatives) * mask).sum()


def one_to_k_ce(
    positive: Tensor,
    negatives: Tensor,
    mask: Tensor,
    softmax: Softmax,
    *,
    weights: Tensor | None = None,
) -> Tensor:
    """Softmax cross-entropy of scores of true triples (B,) over themselves and negatives (B, K).

    ``mask`` (B, K) is False where a negative is no candidate; ``weights`` (B,) are the triples'.
    """
    others = negatives.masked_fill(~mask, -torch.inf).logsumexp(1)
    log_partition = torch.logaddexp(positive, others)
    total = positive + (negatives * mask).sum(1)
    terms = softmax.terms(log_partition, positive, total, 1 + mask.sum(1), weights=weights)
    return terms.sum()


def synthetic_bce(scores: Tensor, terms: Terms, *, weights: Tensor | None = None) -> Tensor:
    """Binary cross-entropy of synthetic samples scored against their own tails, (S,).

    One positive term each, no negatives (Shomer et al., 2023, 4.3); ``weights`` (S,) are factors.
    """
    each = terms.positive(scores)
    return (each if weights is None else each * weights).sum()
