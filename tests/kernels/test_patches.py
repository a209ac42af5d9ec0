"""Patches are PyTorch's unfold, moments those of their columns, gradients exact."""

import torch
from torch.nn import functional

from dglkgmix.kernels.patches import moments_of, patches_of


def test_patches_are_unfold():
    x = torch.randn(3, 6, 5)
    torch.testing.assert_close(patches_of(x, 3), functional.unfold(x.unsqueeze(1), 3))


def test_moments_by_hand():
    columns = torch.tensor([[[1.0, 3.0], [0.0, 2.0]]])  # two columns: (1, 0) and (3, 2)
    mean, products = moments_of(columns)
    assert mean.tolist() == [2.0, 1.0]
    assert products.tolist() == [[5.0, 3.0], [3.0, 2.0]]


def test_gradients():
    x = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: patches_of(x, 3), (x,))
    assert torch.autograd.gradcheck(lambda x: moments_of(patches_of(x, 2)), (x,))
