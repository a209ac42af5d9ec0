"""Rows that come in runs, each run multiplied with a matrix of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

Index = Tensor | slice
# Fewer runs of a length than this are cheaper one after the other than copied together.
_FEW = 8
# Products with so few rows cost about what reading the matrix costs: rows of zeros add little.
_SHORT = 16


class _SegmentProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, matrices: Tensor, sizes: Sequence[int]) -> Tensor:
        ctx.save_for_backward(values, matrices)
        ctx.sizes = sizes
        padded = _padded(values, sizes)
        product = values.new_empty(len(padded), matrices.shape[1], matrices.shape[3])
        for runs, rows in _batches(sizes, values.device):
            own = matrices[runs]  # (K, G, D₁, D₂)
            _multiply(_by_run(padded[rows], own), own.flatten(0, 1), product, rows)
        return product[: len(values)]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        values, matrices = ctx.saved_tensors
        values, gradient = _padded(values, ctx.sizes), _padded(gradient, ctx.sizes)
        to_values, to_matrices = torch.empty_like(values), torch.empty_like(matrices)
        written = torch.zeros(len(matrices), dtype=torch.bool, device=matrices.device)
        for runs, rows in _batches(ctx.sizes, values.device):
            own = matrices[runs]
            part, outer = _by_run(values[rows], own), _by_run(gradient[rows], own)
            _multiply(outer, own.flatten(0, 1).mT, to_values, rows)
            if isinstance(runs, slice):
                torch.bmm(part.mT, outer, out=to_matrices[runs].flatten(0, 1))
            else:
                to_matrices[runs] = torch.bmm(part.mT, outer).view_as(own)
            written[runs] = True
        to_matrices[~written] = 0
        return to_values[: sum(ctx.sizes)], to_matrices, None


def _mostly_short(lengths: Tensor) -> bool:
    return 2 * int(((lengths > 0) & (lengths <= _SHORT)).sum()) > len(lengths)


def _padded(rows: Tensor, sizes: Sequence[int]) -> Tensor:
    """Rows (N, G, D), and one of zeros where :func:`_batches` fills up short runs with row N."""
    if not _mostly_short(torch.tensor(sizes)):
        return rows
    return torch.cat([rows, rows.new_zeros(1, *rows.shape[1:])])


def _batches(sizes: Sequence[int], device: torch.device) -> Iterator[tuple[Index, Index]]:
    """(runs (K,), their rows (K, n)) of every length n > 0; of N rows at most √(2N) lengths.

    Where a few runs share a length each comes alone, as two slices, which copy nothing. Where most
    runs are short, all of these come first, among all runs, whose matrices need no copy then: row
    N, of zeros, fills them up.
    """
    lengths = torch.tensor(sizes, dtype=torch.long)
    starts = lengths.cumsum(0) - lengths
    if _mostly_short(lengths):
        short = lengths <= _SHORT
        place = torch.arange(int(lengths[short].max()))
        own = short.unsqueeze(1) & (place < lengths.unsqueeze(1))
        rows = (starts.unsqueeze(1) + place).where(own, lengths.sum())
        yield slice(0, len(lengths)), rows.to(device)
        lengths = lengths.masked_fill(short, 0)
    ordered, order = lengths.sort(stable=True)
    kinds, counts = torch.unique_consecutive(ordered, return_counts=True)
    for n, runs in zip(kinds.tolist(), torch.split(order, counts.tolist()), strict=True):
        if n and len(runs) < _FEW:
            for run, start in zip(runs.tolist(), starts[runs].tolist(), strict=True):
                yield slice(run, run + 1), slice(start, start + n)
        elif n:
            yield runs.to(device), (starts[runs].unsqueeze(1) + torch.arange(n)).to(device)


def _by_run(rows: Tensor, own: Tensor) -> Tensor:
    """Rows (K · n, G, D), or (K, n, G, D), of K runs as (K · G, n, D)."""
    return rows.view(len(own), -1, *rows.shape[-2:]).transpose(1, 2).flatten(0, 1)


def _multiply(left: Tensor, right: Tensor, target: Tensor, rows: Index) -> None:
    """Products (K · G, n, D) to their rows of ``target`` (N, G, D); a single run's in place."""
    if isinstance(rows, slice):
        torch.bmm(left, right, out=target[rows].transpose(0, 1))
    else:
        products = torch.bmm(left, right)
        target[rows] = products.view(-1, target.shape[1], *products.shape[1:]).transpose(1, 2)


def segment_product(values: Tensor, matrices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Rows (N, C) times the block-diagonal matrix of their run: (N, G · D₂).

    Runs of one length are multiplied at once, so that many short runs cost little more than few
    long ones.

    Args:
        values: N rows, those of run 0 first, with C = G · D₁ columns.
        matrices: (U, G, D₁, D₂), the G diagonal blocks of each run's matrix.
        sizes: U lengths of the runs, N in all.
    """
    blocks = values.to(matrices.dtype).view(len(values), *matrices.shape[1:3])  # (N, G, D₁)
    product: Tensor = _SegmentProduct.apply(blocks, matrices, sizes)  # type: ignore[no-untyped-call]
    return product.view(len(values), matrices.shape[1] * matrices.shape[3])


def segment_outer(left: Tensor, right: Tensor, runs: Tensor, num_runs: int) -> Tensor:
    """Outer products of rows (N, A) with rows (N, B), summed by run: (U, A, B).

    Args:
        left: (N, A).
        right: (N, B).
        runs: (N,) the run of each row, in any order.
        num_runs: U; runs without rows get zeros.
    """
    lengths = runs.bincount(minlength=num_runs)
    # Rows by the length of their run, then by their run: runs of one length are one batch.
    order = (lengths[runs] * num_runs + runs).argsort(stable=True)
    filled = lengths.nonzero().squeeze(1)
    ordered, place = lengths[filled].sort(stable=True)
    kinds, counts = (
        part.tolist() for part in torch.unique_consecutive(ordered, return_counts=True)
    )
    rows = [n * count for n, count in zip(kinds, counts, strict=True)]
    pairs = zip(torch.split(left[order], rows), torch.split(right[order], rows), kinds, strict=True)
    sums = [torch.bmm(a.view(-1, n, a.shape[1]).mT, b.view(-1, n, b.shape[1])) for a, b, n in pairs]
    total = right.new_zeros(num_runs, left.shape[1], right.shape[1])
    return total.index_copy(0, filled[place], torch.cat([total[:0], *sums]))
