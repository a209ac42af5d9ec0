"""What all decoders share."""

import pytest
import torch

from dglkgmix.config.classes import DECODERS, find
from dglkgmix.errors import ConfigError
from dglkgmix.models.complex import ComplEx
from dglkgmix.models.distmult import DistMult


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
