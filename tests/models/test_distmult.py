"""DistMult."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models.distmult import DistMult


def test_score_by_hand():
    decoder = DistMult(2, 2)
    head, relation, tail = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).split(1)
    # 1·3·5 + 2·4·6
    assert decoder.score_all(decoder.query(head, relation), tail).tolist() == [[63.0]]


def test_input_dropout_thins_the_head():
    torch.manual_seed(0)
    query = DistMult(100, 100, input_dropout=0.5).query(torch.ones(2, 100), torch.ones(2, 100))
    assert set(query.unique().tolist()) == {0.0, 2.0}


def test_refuses_two_dimensions():
    with pytest.raises(ConfigError, match="distmult needs them equal"):
        DistMult(4, 2)
