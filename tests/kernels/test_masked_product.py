"""Vectors times shared matrices, each vector with a mask of its own."""

import pytest
import torch

from dglkgmix.kernels.masked_product import masked_product

ROWS = torch.tensor([2, 0, 2, 1, 2])


def inputs():
    torch.manual_seed(0)
    vectors = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    return vectors, torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)


def test_without_dropout():
    vectors, matrices = inputs()
    expected = torch.stack([vectors[b] @ matrices[ROWS[b]] for b in range(5)])
    torch.testing.assert_close(masked_product(vectors, matrices, ROWS, 0.0), expected)
    torch.testing.assert_close(masked_product(vectors, matrices[ROWS], None, 0.0), expected)


def test_every_element_is_dropped_on_its_own():
    torch.manual_seed(1)
    dim, copies = 30, 400
    matrix = torch.rand(1, dim, dim) + 1
    rows = torch.zeros(copies, dtype=torch.long)
    # A unit vector reads one row of the thinned matrix.
    units = torch.eye(dim).repeat(copies // dim + 1, 1)[:copies]
    read = masked_product(units, matrix, rows, 0.4)
    whole = (units @ matrix[0]) / 0.6
    ratio = read / whole
    kept = ratio > 0.5
    torch.testing.assert_close(ratio, kept.float(), atol=1e-4, rtol=0)
    assert float(kept.float().mean()) == pytest.approx(0.6, abs=0.02)  # 12,000 draws: 4 errors
    same = (kept[:30] == kept[30:60]).float().mean()  # the same elements in two copies
    assert float(same) == pytest.approx(0.52, abs=0.07)


@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("shared", [True, False])
def test_gradients(p, shared):
    vectors, matrices = inputs()

    def product(vectors, matrices):
        torch.manual_seed(3)  # the same mask each time
        if shared:
            return masked_product(vectors, matrices, ROWS, p)
        return masked_product(vectors[:3], matrices, None, p)

    assert torch.autograd.gradcheck(product, (vectors, matrices))


def test_matrices_stay_as_they_were():
    vectors, matrices = inputs()
    before = matrices.detach().clone()
    masked_product(vectors, matrices, ROWS, 0.5)
    masked_product(vectors[:3], matrices, None, 0.5)
    assert torch.equal(matrices, before)
