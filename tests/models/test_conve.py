"""ConvE's geometry; its scores are held to the paper's layers in tests/contracts."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models.conve import ConvE, Geometry, fitting_shapes


@pytest.mark.parametrize(
    ("dim", "shape"), [(200, (20, 10)), (64, (8, 8)), (100, (10, 10)), (32, (8, 4)), (12, (4, 3))]
)
def test_auto_height_is_twice_the_width_or_nearest(dim, shape):
    geometry = Geometry.resolve(dim)
    assert (geometry.height, geometry.width) == shape


def test_hidden_sizes_of_the_two_shapes_in_use():
    assert Geometry.resolve(200).hidden == 9_728
    assert Geometry.resolve(200, 10).hidden == 10_368


def test_shapes_that_fit():
    # 1 x 12 is too low once stacked, 6 x 2 and 12 x 1 too narrow.
    assert fitting_shapes(12, 3) == [(2, 6), (3, 4), (4, 3)]


def test_shapes_of_an_absurd_dimension_are_found_at_once():
    assert fitting_shapes(10**12 + 39, 3) == []  # a prime
    assert len(fitting_shapes(10**12, 1)) == 13**2
    assert fitting_shapes(1, 1) == [(1, 1)]


def test_wrong_height_lists_what_fits():
    with pytest.raises(ValueError, match=r"height 16 does not fit .* 200: .*2x100, .*20x10"):
        ConvE(200, 200, height=16)


def test_prime_dimension_lists_near_ones():
    with pytest.raises(ConfigError, match=r"entity_dim 7 has no .*near it is 6, 8, 9, 10"):
        ConvE(7, 7)


def test_dropouts_act_in_training_alone():
    torch.manual_seed(0)
    decoder = ConvE(12, 12)
    head, relation = torch.randn(2, 6, 12)
    assert not torch.equal(decoder.query(head, relation), decoder.query(head, relation))
    decoder.eval()
    assert torch.equal(decoder.query(head, relation), decoder.query(head, relation))
