"""TransE with both norms."""

import pytest
import torch

from dglkgmix.models.transe import TransE


@pytest.mark.parametrize(("norm", "distance"), [(1, 7.0), (2, 5.0)])
def test_score_by_hand(norm, distance):
    decoder = TransE(2, 2, norm=norm)
    query = decoder.query(torch.tensor([[1.0, 1.0]]), torch.tensor([[2.0, 0.0]]))  # (3, 1)
    tails = torch.tensor([[3.0, 1.0], [0.0, 5.0]])
    bias = torch.tensor([1.0, 2.0])
    assert decoder.score_all(query, tails).tolist() == [[0.0, -distance]]
    assert decoder.score_all(query, tails, bias).tolist() == [[1.0, 2.0 - distance]]
    assert decoder.score(query, tails.unsqueeze(0), bias.unsqueeze(0)).tolist() == [
        [1.0, 2.0 - distance]
    ]


@pytest.mark.parametrize("norm", [1, 2])
def test_close_points_keep_their_digits(norm):
    decoder = TransE(8, 8, norm=norm)
    query = torch.full((30, 8), 100.0)
    tails = torch.full((40, 8), 100.0) + 1e-3
    expected = -torch.linalg.vector_norm((query[0] - tails[0]).double(), ord=norm)
    torch.testing.assert_close(
        decoder.score_all(query, tails).double(), expected.expand(30, 40), rtol=1e-5, atol=0
    )


@pytest.mark.parametrize("norm", [1, 2])
def test_gradients(norm):
    torch.manual_seed(0)
    decoder = TransE(3, 3, norm=norm)
    query = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    tails = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(decoder.score_all, (query, tails))
    assert torch.autograd.gradcheck(
        lambda q, t: decoder.score(q, t.expand(2, 4, 3)), (query, tails)
    )


def test_gradient_where_points_meet_is_finite():
    point = torch.ones(1, 3, requires_grad=True)
    TransE(3, 3, norm=2).score_all(point, torch.ones(1, 3)).sum().backward()
    assert point.grad.isfinite().all()


def test_tables_start_as_the_authors_do():
    entities, relations = torch.empty(50, 16), torch.empty(6, 16)
    TransE(16, 16).start_tables(entities, relations)
    assert 1.2 < float(entities.abs().max()) <= 1.5  # 6 / √16
    torch.testing.assert_close(relations.norm(dim=1), torch.ones(6))
