"""Softmax over all entities without a matrix of probabilities: log-partition and picked scores.

Softmax cross-entropy needs of a row of scores only log Σ exp(s), the scores at its positives and
their sum. These small tensors come out of one autograd function; smoothing, weights, focal factors
and reductions are then plain formulas on them (:mod:`dglkgmix.losses.softmax`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from dglkgmix.kernels.products import Gradients, Products, places_in_blocks
from dglkgmix.kernels.table import Table
from dglkgmix.losses.targets import Offsets

# Scores kept for the backward pass: 1 GiB of float32. Beyond it they are computed again.
KEPT_SCORES = 2**28


class RowStatistics(Function):
    """log Σ exp over each row of the scores ``query @ table.T + bias``, and scores picked."""

    @staticmethod
    def forward(  # noqa: PLR0917 - autograd passes them by position
        ctx: Any,
        query: Tensor,
        _: Tensor,
        bias: Tensor | None,
        table: Table,
        rows: Tensor,
        tails: Tensor,
        offsets: Offsets | None,
    ) -> tuple[Tensor, Tensor]:
        """Query (B, D), the table's anchor, bias (E,), table (E, D) to two tensors.

        They are the log-partitions (B,) and the scores at the distinct places (rows[p], tails[p]),
        (P,).
        """
        exponentials = _Exponentials(Products(query, table, bias), offsets)
        picks = places_in_blocks(rows, tails, exponentials.blocks, len(query))
        picked = exponentials.row(len(rows))
        maximum = exponentials.row(len(query)).fill_(-torch.inf)
        total = torch.zeros_like(maximum)
        for number, (flat, index) in enumerate(picks):
            scores = exponentials.scores(number)
            picked[index] = scores.view(-1)[flat].to(picked.dtype)
            before, maximum = maximum, torch.maximum(maximum, scores.amax(0))
            exponential = scores.sub_(maximum.to(scores.dtype)).exp_()
            total = total * (before - maximum).exp() + exponential.sum(0, dtype=total.dtype)
            exponentials.maxima[number] = maximum
        log_partition = maximum + total.log()
        ctx.exponentials, ctx.picks, ctx.table = exponentials, picks, table
        ctx.log_partition = log_partition.clone()
        return log_partition, picked

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_row: Tensor, by_pick: Tensor) -> tuple[Tensor | None, ...]:
        """Upstream gradients (B,) and (P,) to those of query, table and bias."""
        exponentials = ctx.exponentials
        gradients = Gradients(exponentials.products, ctx.needs_input_grad[:3])
        for number, block in enumerate(exponentials.blocks):
            factor = by_row * (exponentials.maxima[number] - ctx.log_partition).exp()
            gradient = exponentials.take(number)
            gradient.mul_(factor.to(gradient.dtype))
            flat, index = ctx.picks[number]
            gradient.view(-1).index_add_(0, flat, by_pick[index].to(gradient.dtype))
            gradients.add(block, gradient)
        exponentials.kept = False
        return *gradients.give(ctx.table), None, None, None, None


class _Exponentials:
    """exp(score - m) of each block, m (B,) the maximum of each row so far.

    Attributes:
        kept: whether all blocks are in memory: from the first pass until they have been taken.
    """

    def __init__(self, products: Products, offsets: Offsets | None) -> None:
        self.products = products
        self.blocks = products.blocks()
        self._offsets, self._places = offsets, None
        batch = len(products.query)
        if offsets is not None:
            self._places = places_in_blocks(offsets.rows, offsets.tails, self.blocks, batch)
        entities = len(products.entities)
        self.kept = entities * batch <= KEPT_SCORES
        self._buffer = products.buffer(entities if self.kept else self.blocks[0].stop)
        # m of each block. One tensor: small ones, kept among large ones that come and go, would
        # leave holes that no later block fits into.
        self.maxima = self._buffer.new_empty(len(self.blocks), batch, dtype=products.wide)

    def row(self, length: int) -> Tensor:
        """An uninitialised (length,) tensor of float32 or wider."""
        return self._buffer.new_empty(length, dtype=self.products.wide)

    def scores(self, number: int) -> Tensor:
        """Scores (n, B) of a block, offsets included."""
        block = self.blocks[number]
        scores = self.products.scores(block, self._buffer[block] if self.kept else self._buffer)
        if self._offsets is not None and self._places is not None:
            flat, index = self._places[number]
            scores.view(-1).index_add_(0, flat, self._offsets.values[index].to(scores.dtype))
        return scores

    def take(self, number: int) -> Tensor:
        """Exponentials (n, B) of a block that was there before, to be written over."""
        if self.kept:
            return self._buffer[self.blocks[number]]
        scores = self.scores(number)
        return scores.sub_(self.maxima[number].to(scores.dtype)).exp_()
