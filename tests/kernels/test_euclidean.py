"""Distances by products, against differences in float64."""

import pytest
import torch

from dglkgmix.kernels import euclidean as module
from dglkgmix.kernels.euclidean import euclidean
from dglkgmix.models.transe import TransE


def by_hand(points, others, upstream):
    """Distances and both gradients from all B x E x D differences."""
    differences = points.double().unsqueeze(1) - others.double()
    distances = differences.square().sum(2).sqrt()
    weights = torch.where(distances > 0, upstream.double() / distances, 0.0).unsqueeze(2)
    return distances, (weights * differences).sum(1), -(weights * differences).sum(0)


def clouds():
    generator = torch.Generator().manual_seed(0)
    others = torch.randn(300, 50, generator=generator) * 0.3
    noise = torch.randn(20, 50, generator=generator)
    start = torch.rand(20, 50, generator=generator) - 0.5
    return {
        "as at the start": (start, others),
        "trained: one is close": (others[:20] + 0.02 * noise, others),
        "one is very close": (others[:20] + 1e-4 * noise, others),
        "one is met": (others[:20].clone(), others),
        "all are close, far from the origin": (others[:20] + 100 + 0.01 * noise, others + 100),
        "all are nearly one point": (1e-3 * noise + 1, 1e-3 * others + 1),
    }


@pytest.mark.parametrize("name", clouds())
@pytest.mark.parametrize("block", [2**22, 700])
def test_distances_and_gradients(name, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    points, others = (cloud.requires_grad_() for cloud in clouds()[name])
    upstream = torch.randn(20, 300, generator=torch.Generator().manual_seed(1))
    distances = euclidean(points, others)
    distances.backward(upstream)
    found = (distances.detach(), points.grad, others.grad)
    for value, expected in zip(found, by_hand(points, others, upstream), strict=True):
        torch.testing.assert_close(value.double(), expected, rtol=1e-4, atol=1e-4)
    relative = (distances - by_hand(points, others, upstream)[0]).abs() / distances.clamp(min=1e-12)
    assert float(relative.detach().max()) < 1e-4


def test_the_gradient_is_that_of_the_distances_and_0_where_points_meet():
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(3, 4, dtype=torch.double, generator=generator, requires_grad=True)
    others = torch.randn(5, 4, dtype=torch.double, generator=generator)
    others[0] = points.detach()[0] + 1e-3
    assert torch.autograd.gradcheck(euclidean, (points, others.requires_grad_()))
    met = torch.ones(1, 3, requires_grad=True)
    euclidean(met, torch.ones(2, 3)).sum().backward()
    assert met.grad.tolist() == [[0.0, 0.0, 0.0]]


def test_a_model_takes_products_where_gradients_are_asked_for_alone(monkeypatch):
    def refuse(*_):
        raise AssertionError("a product")

    monkeypatch.setattr("dglkgmix.models.transe.euclidean", refuse)
    query, entities = torch.randn(3, 4), torch.randn(5, 4)
    with torch.no_grad():
        TransE(4, 4, norm=2).score_all(query, entities)
    TransE(4, 4, norm=1).score_all(query, entities)
    with pytest.raises(AssertionError, match="a product"):
        TransE(4, 4, norm=2).score_all(query, entities)


def test_autocast_leaves_the_digits():
    query, entities = torch.randn(3, 40), torch.randn(5, 40)
    with torch.autocast("cpu", torch.bfloat16):
        found = euclidean(query, entities)
    torch.testing.assert_close(found, torch.cdist(query, entities), rtol=1e-5, atol=1e-5)
    assert euclidean(query.bfloat16(), entities.bfloat16()).dtype == torch.float32
