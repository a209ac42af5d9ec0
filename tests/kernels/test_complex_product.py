"""Products of complex vectors against PyTorch's complex numbers."""

import pytest
import torch

from dglkgmix.kernels.complex_product import complex_product
from tests.kernels import dense


@pytest.mark.parametrize("conjugate", [False, True])
def test_values_and_gradients(conjugate):
    chance = torch.Generator().manual_seed(0)
    shape = (2, 3, 8)
    pair = torch.randn(shape, generator=chance, dtype=torch.double).requires_grad_().unbind()
    left, right = (torch.complex(*x.chunk(2, 1)) for x in pair)
    expected = (left.conj() if conjugate else left) * right
    expected = torch.cat([expected.real, expected.imag], 1)
    mine = complex_product(*pair, conjugate=conjugate)
    torch.testing.assert_close(mine, expected)
    dense.assert_same(mine.sin().sum(), expected.sin().sum(), pair)


def test_one_side_may_be_constant():
    left, right = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]], requires_grad=True)
    product = complex_product(left, right)  # (1 + 2i) (3 + 4i)
    assert product.tolist() == [[-5.0, 10.0]]
    product.sum().backward()
    assert right.grad.tolist() == [[3.0, -1.0]]


def test_the_wider_type_is_the_products():
    left, right = torch.ones(1, 4, dtype=torch.bfloat16, requires_grad=True), torch.ones(1, 4)
    product = complex_product(left, right)
    product.sum().backward()
    assert (product.dtype, left.grad.dtype) == (torch.float32, torch.bfloat16)
