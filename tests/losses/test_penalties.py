"""Penalties by hand."""

from __future__ import annotations

import torch

from dglkgmix.losses.penalties import l2, n3

SQUARES = torch.tensor([[4.0, 9.0], [1.0, 16.0]])  # of 2, 3 and 1, 4


def test_cubes_and_squares() -> None:
    once = torch.tensor([1, 1])
    assert float(n3(SQUARES, once)) == 8 + 27 + 1 + 64
    assert float(l2(SQUARES, once)) == 4 + 9 + 1 + 16


def test_rows_that_count_several_times() -> None:
    counts = torch.tensor([3, 0])
    assert float(n3(SQUARES, counts)) == 3 * (8 + 27)
    assert float(l2(SQUARES, counts)) == 3 * (4 + 9)


def test_zeros_have_a_gradient() -> None:
    vectors = torch.tensor([[0.0, -2.0]], requires_grad=True)
    n3(vectors.square(), torch.tensor([2])).backward()
    assert vectors.grad.tolist() == [[0.0, -24.0]]
