"""Vectors: ids become rows."""

import pytest
import torch

from dglkgmix.models.encoder import Vectors

ENTITIES = torch.arange(8.0).view(4, 2)
RELATIONS = torch.arange(6.0).view(2, 3)


def test_some_entities_by_position():
    vectors = Vectors(ENTITIES[:2], RELATIONS, torch.tensor([-1, 1, -1, 0]))
    assert vectors.entity(torch.tensor([3, 1])).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(IndexError):
        vectors.entity(torch.tensor([0]))  # was not encoded
