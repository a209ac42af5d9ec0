"""Vectors: ids become rows."""

import pytest
import torch

from dglkgmix.models.encoder import Encoder, Vectors
from dglkgmix.models.lookup import Lookup

ENTITIES = torch.arange(8.0).view(4, 2)
RELATIONS = torch.arange(6.0).view(2, 3)


def test_all_entities_in_id_order():
    vectors = Vectors(ENTITIES, RELATIONS)
    assert vectors.entity(torch.tensor([[3, 0]])).tolist() == [[[6.0, 7.0], [0.0, 1.0]]]
    assert vectors.relation(torch.tensor([1])).tolist() == [[3.0, 4.0, 5.0]]


def test_some_entities_by_position():
    vectors = Vectors(ENTITIES[:2], RELATIONS, torch.tensor([-1, 1, -1, 0]))
    assert vectors.entity(torch.tensor([3, 1])).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(IndexError):
        vectors.entity(torch.tensor([0]))  # was not encoded


def test_encoder_holds_the_tables():
    encoder = Lookup(4, 6, 3, 2)
    assert [name for name, _ in encoder.named_parameters()] == ["entity_table", "relation_table"]
    assert encoder.entity_table.shape == (4, 3)
    assert encoder.relation_table.shape == (6, 2)
    with pytest.raises(TypeError, match="abstract"):
        Encoder(4, 6, 3, 2)
