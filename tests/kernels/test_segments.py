"""Runs of rows times a matrix of their own."""

import pytest
import torch

from dglkgmix.kernels.segments import segment_outer, segment_product

# Most are short, with long ones between; few are, and lengths that one run has alone or many share.
SIZES = [[2, 0, 3, 19, *[1, 2] * 4, 16, 17, 5], [1, 18, 0, *[17, 20] * 8, 17, 3, 0]]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("blocks", [1, 2])
def test_runs_of_any_length_one_by_one(blocks, sizes):
    rows, dim = sum(sizes), 2 * blocks
    values = torch.randn(rows, dim, dtype=torch.float64)
    matrices = torch.randn(len(sizes), blocks, 2, 3, dtype=torch.float64)

    product = segment_product(values, matrices, sizes)

    dense = [torch.block_diag(*matrix) for matrix in matrices]
    parts = [part @ own for part, own in zip(values.split(sizes), dense, strict=True)]
    torch.testing.assert_close(product, torch.cat(parts))


@pytest.mark.parametrize("sizes", SIZES)
def test_gradients(sizes):
    values = torch.randn(sum(sizes), 4, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(len(sizes), 2, 2, 3, dtype=torch.float64, requires_grad=True)

    assert torch.autograd.gradcheck(
        lambda v, m: segment_product(v, m, sizes), (values, matrices), fast_mode=True
    )


def test_outer_products_by_run():
    left = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    right = torch.tensor([[1.0], [10.0], [100.0]])
    sums = segment_outer(left, right, torch.tensor([3, 1, 3]), 4)
    assert sums.squeeze(2).tolist() == [[0, 0], [30, 40], [0, 0], [501, 602]]
    assert segment_outer(left[:0], right[:0], torch.tensor([], dtype=torch.long), 2).sum() == 0
