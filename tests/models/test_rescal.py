"""RESCAL."""

import pytest
import torch

from dglkgmix.models.rescal import RESCAL


def test_tables_start_with_matrices_that_keep_lengths():
    torch.manual_seed(0)
    decoder = RESCAL(50, 50)
    entities, relations = torch.empty(30, 50), torch.empty(4, 2500)
    decoder.start_tables(entities, relations)
    head = torch.randn(4, 50)
    moved = decoder.query(head, relations)
    assert float(moved.norm() / head.norm()) == pytest.approx(1.0, abs=0.15)
    assert float(entities.std()) == pytest.approx((2 / 80) ** 0.5, rel=0.1)  # Xavier
