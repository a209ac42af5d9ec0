"""Binary cross-entropy of a 1-N batch in one pass, without dense targets or a score matrix.

The loss is Σ negative(s) over all B x E scores, put right at the P positives. The gradient of a
score is known as soon as the score is, so each block of scores becomes its own gradient in place
and is multiplied back at once: what is kept for the backward pass are the gradients of query,
entities and bias themselves.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from dglkgmix.kernels.products import Gradients, Products, places_in_blocks
from dglkgmix.kernels.table import Table
from dglkgmix.losses.pointwise import Terms
from dglkgmix.losses.targets import Positives


class FusedTerms(Function):
    """Sum of weighted terms of all scores ``query @ table.T + bias``, a scalar."""

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd passes them by position
        ctx: Any,
        query: Tensor,
        _: Tensor,
        bias: Tensor | None,
        table: Table,
        positives: Positives,
        terms: Terms,
    ) -> Tensor:
        """Shapes: query (B, D), the table's anchor, bias (E,), table (E, D)."""
        ctx.table, ctx.products = table, Products(query, table, bias)
        ctx.recipe = positives, terms, ctx.needs_input_grad[:3]
        total, ctx.gradients = _pass(ctx.products, *ctx.recipe)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients times the upstream scalar."""
        # The first call gives its gradients away; a graph that is kept makes them again.
        gradients = ctx.gradients or _pass(ctx.products, *ctx.recipe)[1]
        ctx.gradients = None
        gradients.scale(upstream)
        return *gradients.give(ctx.table), None, None, None


def _pass(
    products: Products, positives: Positives, terms: Terms, wanted: tuple[bool, bool, bool]
) -> tuple[Tensor, Gradients]:
    """The sum and its gradients, a block of entities at a time."""
    gradients = Gradients(products, wanted)
    blocks = products.blocks()
    buffer = products.buffer(blocks[0].stop)
    total = buffer.new_zeros((), dtype=products.wide)
    places = places_in_blocks(positives.rows, positives.tails, blocks, len(products.query))
    for block, (flat, index) in zip(blocks, places, strict=True):
        scores = products.scores(block, buffer)
        weights = None if positives.weights is None else positives.weights[index]
        total += terms_to_gradient_(scores, flat, weights, terms)
        gradients.add(block, scores)
    return total, gradients


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
        return ctx.saved_tensors[0] * upstream, None, None


def terms_to_gradient_(
    scores: Tensor, places: Tensor, weights: Tensor | None, terms: Terms
) -> Tensor:
    """Sum of the terms of scores (any shape); their gradient takes the place of the scores.

    ``places``: (P,) long, distinct flat positions of the positives; ``weights``: (P,) or None.
    """
    flat = scores.view(-1)
    corrected, gradient = terms.correction(flat[places], weights)
    total = terms.negatives_(scores) + corrected
    flat.index_add_(0, places, gradient.to(flat.dtype))
    return total
