"""Binary cross-entropy of a 1-N batch in one pass, without dense targets or a score matrix.

The loss is Σ negative(s) over all B x E scores, put right at the P positives. The gradient of a
score is known as soon as the score is, so each block of scores becomes its own gradient in place
and is multiplied back at once: what is kept for the backward pass are the gradients of query,
entities and bias themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from dglkgmix.training.losses.pointwise import Terms
from dglkgmix.training.losses.products import Gradients, Products, places_in_blocks


@dataclass(frozen=True, eq=False)
class Positives:
    """Where the true triples of a 1-N batch are: P distinct places in the (B, E) scores.

    Attributes:
        rows: (P,) long, row of the batch.
        tails: (P,) long, entity.
        weights: (P,) float, how much each positive term counts; None for 1.
    """

    rows: Tensor
    tails: Tensor
    weights: Tensor | None = None


class FusedTerms(Function):
    """Sum of weighted terms of all scores ``query @ entities.T + bias``, a scalar."""

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd passes them by position
        ctx: Any,
        query: Tensor,
        entities: Tensor,
        bias: Tensor | None,
        positives: Positives,
        terms: Terms,
    ) -> Tensor:
        """Shapes: query (B, D), entities (E, D), bias (E,)."""
        products = Products(query, entities, bias)
        gradients = Gradients(products, ctx.needs_input_grad[:3])
        blocks = products.blocks()
        buffer = products.buffer(blocks[0].stop)
        total = buffer.new_zeros(())
        places = places_in_blocks(positives.rows, positives.tails, blocks, len(query))
        for block, (flat, index) in zip(blocks, places, strict=True):
            scores = products.scores(block, buffer)
            weights = None if positives.weights is None else positives.weights[index]
            total += terms_to_gradient_(scores, flat, weights, terms)
            gradients.add(block, scores)
        ctx.save_for_backward(*gradients.tensors())
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients times the upstream scalar."""
        return *(_scaled(gradient, upstream) for gradient in ctx.saved_tensors), None, None


class FusedScores(Function):
    """Sum of weighted terms of given scores (B, E), for decoders that are no matrix product."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, positives: Positives, terms: Terms) -> Tensor:
        """Keeps the gradient of the scores in a buffer of their size."""
        buffer = scores.contiguous().to(torch.promote_types(scores.dtype, torch.float32), copy=True)
        places = positives.rows * buffer.shape[1] + positives.tails
        total = terms_to_gradient_(buffer, places, positives.weights, terms)
        ctx.save_for_backward(buffer)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, None, None]:
        """Gradient times the upstream scalar."""
        return _scaled(ctx.saved_tensors[0], upstream), None, None


def terms_to_gradient_(
    scores: Tensor, places: Tensor, weights: Tensor | None, terms: Terms
) -> Tensor:
    """Sum of the terms of scores (any shape); their gradient takes the place of the scores.

    ``places``: (P,) long, distinct flat positions of the positives; ``weights``: (P,) or None.
    """
    flat = scores.view(-1)
    corrected, gradient = terms.correction(flat[places], weights)
    total = terms.negatives_(scores) + corrected
    flat.index_add_(0, places, gradient)
    return total


def _scaled(gradient: Tensor | None, upstream: Tensor) -> Tensor | None:
    # Comparing waits for other devices; on the CPU it spares a pass over the entity table.
    if gradient is None or (upstream.device.type == "cpu" and upstream == 1):
        return gradient
    return gradient * upstream
