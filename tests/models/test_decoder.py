"""What all decoders share."""

import pytest
import torch

from dglkgmix.config.classes import DECODERS, find
from dglkgmix.errors import ConfigError
from dglkgmix.models.complex import ComplEx
from dglkgmix.models.distmult import DistMult


def test_scores_by_hand():
    decoder = DistMult(2, 2)
    query = torch.tensor([[1.0, 2.0]])
    entities = torch.tensor([[1.0, 1.0], [0.0, 3.0], [2.0, 0.0]])
    bias = torch.tensor([0.5, 0.0, -1.0])
    assert decoder.score_all(query, entities).tolist() == [[3.0, 6.0, 2.0]]
    assert decoder.score_all(query, entities, bias).tolist() == [[3.5, 6.0, 1.0]]
    chosen = torch.tensor([[2, 0]])
    assert decoder.score(query, entities[chosen]).tolist() == [[2.0, 3.0]]
    assert decoder.score(query, entities[chosen], bias[chosen]).tolist() == [[1.0, 3.5]]


def test_rows_name_each_querys_relation():
    decoder = DistMult(2, 2)
    relations = torch.tensor([[1.0, 2.0], [10.0, 20.0]])
    query = decoder.query(torch.ones(3, 2), relations, torch.tensor([1, 0, 1]))
    assert query.tolist() == [[10.0, 20.0], [1.0, 2.0], [10.0, 20.0]]


def test_squared_moduli():
    vectors = torch.tensor([[1.0, -2.0, 3.0, 4.0]])
    assert DistMult(4, 4).squared_moduli(vectors).tolist() == [[1.0, 4.0, 9.0, 16.0]]
    # 1 + 3i and -2 + 4i
    assert ComplEx(4, 4).squared_moduli(vectors).tolist() == [[10.0, 20.0]]


@pytest.mark.parametrize("name", [n for n in DECODERS if not find("decoder", n).two_dims])
def test_two_dimensions_are_refused_where_one_is_meant(name):
    message = rf"relation_dim is 24 and model\.entity_dim 12: {name} needs them equal"
    with pytest.raises(ConfigError, match=message):
        find("decoder", name)(12, 24)
