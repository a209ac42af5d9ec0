"""Sums along links, by DGL and by PyTorch."""

import torch

from dglkgmix.models.links import Links


def links():
    # 0 -> 1, 2 -> 1, 2 -> 0, twice 1 -> 3; nothing reaches 2
    return Links(torch.tensor([0, 2, 2, 1, 1]), torch.tensor([1, 1, 0, 3, 3]), 3, 4)


FEATURES = torch.tensor([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
SUMS = [[4.0, 40.0], [5.0, 50.0], [0.0, 0.0], [4.0, 40.0]]


def test_sums_by_hand():
    assert links().sum_by_dgl(FEATURES).tolist() == SUMS
    assert links().sum_by_torch(FEATURES).tolist() == SUMS
    assert links().sum(FEATURES).tolist() == SUMS


def test_both_ways_agree_on_a_large_graph_with_gradients():
    torch.manual_seed(0)
    many = Links(torch.randint(300, (5000,)), torch.randint(200, (5000,)), 300, 200)
    features = torch.randn(300, 16, requires_grad=True)
    weight = torch.randn(200, 16)
    results = []
    for way in (many.sum_by_dgl, many.sum_by_torch):
        total = way(features)
        results.append((total, *torch.autograd.grad((total * weight).sum(), features)))
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-5)


def test_features_elsewhere_go_by_torch():
    features = torch.empty(3, 2, device="meta")
    assert links().sum(features).shape == (4, 2)
