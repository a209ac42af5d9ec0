"""Runs of rows times a matrix of their own."""

from __future__ import annotations

import torch

from dglkgmix.models.segments import segment_product


def test_by_hand() -> None:
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    matrices = torch.stack([torch.eye(2), torch.zeros(2, 2), 2 * torch.eye(2)]).unsqueeze(1)

    product = segment_product(values, matrices, [1, 0, 2])

    assert product.tolist() == [[1.0, 2.0], [6.0, 8.0], [10.0, 12.0]]


def test_blocks_are_a_block_diagonal_matrix() -> None:
    values, blocks = torch.randn(5, 6), torch.randn(2, 3, 2, 2)

    product = segment_product(values, blocks, [2, 3])

    dense = [torch.block_diag(*matrix) for matrix in blocks]
    torch.testing.assert_close(product, torch.cat([values[:2] @ dense[0], values[2:] @ dense[1]]))


def test_gradients() -> None:
    values = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(3, 2, 2, 3, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(
        lambda v, m: segment_product(v, m, [2, 0, 3]), (values, matrices)
    )


def test_no_rows() -> None:
    assert segment_product(torch.empty(0, 4), torch.randn(2, 1, 4, 3), [0, 0]).shape == (0, 3)
