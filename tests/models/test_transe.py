"""TransE with both norms."""

import pytest
import torch

from dglkgmix.models.transe import TransE


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


def test_tables_start_as_the_authors_do():
    entities, relations = torch.empty(50, 16), torch.empty(6, 16)
    TransE(16, 16).start_tables(entities, relations)
    assert 1.2 < float(entities.abs().max()) <= 1.5  # 6 / √16
    torch.testing.assert_close(relations.norm(dim=1), torch.ones(6))
