"""RESCAL."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models.rescal import RESCAL


def test_score_by_hand():
    decoder = RESCAL(2, 2)
    matrix = torch.tensor([[1.0, 2.0, 3.0, 4.0]])  # row by row: [[1, 2], [3, 4]]
    query = decoder.query(torch.tensor([[1.0, 10.0]]), matrix)
    assert decoder.relation_dim == 4
    assert query.tolist() == [[31.0, 42.0]]
    assert decoder.score_all(query, torch.tensor([[1.0, -1.0]])).tolist() == [[-11.0]]


def test_tables_start_with_matrices_that_keep_lengths():
    torch.manual_seed(0)
    decoder = RESCAL(50, 50)
    entities, relations = torch.empty(30, 50), torch.empty(4, 2500)
    decoder.start_tables(entities, relations)
    head = torch.randn(4, 50)
    moved = decoder.query(head, relations)
    assert float(moved.norm() / head.norm()) == pytest.approx(1.0, abs=0.15)
    assert float(entities.std()) == pytest.approx((2 / 80) ** 0.5, rel=0.1)  # Xavier


def test_refuses_two_dimensions():
    with pytest.raises(ConfigError, match="rescal needs them equal"):
        RESCAL(4, 16)
