"""ConvE's geometry, and its scores against the layers of the paper."""

import pytest
import torch
from torch import nn

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


class Paper(nn.Module):
    """The layers of ConvE, one after the other, with the weights of ``ours``."""

    def __init__(self, ours):
        super().__init__()
        shape = ours.geometry
        self.shape = (-1, 1, shape.height, shape.width)
        self.norm0 = nn.BatchNorm2d(1).double()
        self.conv = nn.Conv2d(1, shape.filters, shape.kernel, bias=False).double()
        self.norm1 = nn.BatchNorm2d(shape.filters).double()
        self.linear = nn.Linear(shape.hidden, ours.entity_dim).double()
        self.norm2 = nn.BatchNorm1d(ours.entity_dim).double()
        self.norm0.load_state_dict(ours.input_norm.state_dict())
        self.conv.load_state_dict(ours.convolution.filters.state_dict())
        self.norm1.load_state_dict(ours.convolution.norm.state_dict())
        self.linear.load_state_dict(ours.projection.state_dict())
        self.norm2.load_state_dict(ours.output_norm.state_dict())

    def forward(self, head, relation):
        x = torch.cat([head.view(self.shape), relation.view(self.shape)], 2)
        x = torch.relu(self.norm1(self.conv(self.norm0(x))))
        return torch.relu(self.norm2(self.linear(x.flatten(1))))


@pytest.mark.parametrize("training", [True, False])
def test_query_is_the_papers(training):
    torch.manual_seed(0)
    ours = ConvE(12, 12, filters=5, input_dropout=0, feature_dropout=0, hidden_dropout=0).double()
    ours.query(torch.randn(9, 12).double() * 3, torch.randn(9, 12).double())  # move the statistics
    paper = Paper(ours).train(training)
    head, relation = torch.randn(2, 6, 12, dtype=torch.float64)
    torch.testing.assert_close(ours.train(training).query(head, relation), paper(head, relation))
    torch.testing.assert_close(ours.output_norm.running_var, paper.norm2.running_var)


def test_dropouts_act_in_training_alone():
    torch.manual_seed(0)
    decoder = ConvE(12, 12)
    head, relation = torch.randn(2, 6, 12)
    assert not torch.equal(decoder.query(head, relation), decoder.query(head, relation))
    decoder.eval()
    assert torch.equal(decoder.query(head, relation), decoder.query(head, relation))
