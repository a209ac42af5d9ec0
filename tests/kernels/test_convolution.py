"""The fused convolution against convolution, batch norm and ReLU one after the other."""

import pytest
import torch
from torch import nn

from dglkgmix.kernels.convolution import NormedConvolution


def plain(ours):
    """PyTorch's layers with the same weights."""
    filters = ours.filters.out_channels
    norm = nn.BatchNorm2d(filters).double()
    norm.load_state_dict(ours.norm.state_dict())
    conv = nn.Conv2d(1, filters, ours.filters.kernel_size, bias=False).double()
    conv.load_state_dict(ours.filters.state_dict())
    return nn.Sequential(conv, norm, nn.ReLU())


def convolution(dropout=0.0):
    torch.manual_seed(0)
    layer = NormedConvolution(4, 3, dropout).double()
    nn.init.normal_(layer.norm.weight)
    nn.init.normal_(layer.norm.bias)
    layer.norm.running_mean.normal_()
    layer.norm.running_var.uniform_(0.5, 2)
    return layer


def pictures(rows):
    return torch.randn(rows, 6, 5, dtype=torch.float64) + 1


@pytest.mark.parametrize("training", [True, False])
def test_is_the_plain_layers(training):
    layer, x = convolution(), pictures(7)
    theirs = plain(layer).train(training)
    layer.train(training)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, expected = layer(a), theirs(b.unsqueeze(1))
    weight = torch.randn_like(expected)
    (ours * weight).sum().backward()
    (expected * weight).sum().backward()
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(a.grad, b.grad)
    torch.testing.assert_close(layer.filters.weight.grad, theirs[0].weight.grad)
    torch.testing.assert_close(layer.norm.weight.grad, theirs[1].weight.grad)
    torch.testing.assert_close(layer.norm.bias.grad, theirs[1].bias.grad)
    torch.testing.assert_close(layer.norm.running_mean, theirs[1].running_mean)
    torch.testing.assert_close(layer.norm.running_var, theirs[1].running_var)
    assert layer.norm.num_batches_tracked == int(training)


def test_single_row_in_training_takes_the_running_statistics():
    layer, x = convolution(), pictures(1)
    ours = layer.train()(x)
    torch.testing.assert_close(ours, plain(layer).eval()(x.unsqueeze(1)))
    assert layer.norm.num_batches_tracked == 0


def test_frozen_statistics_stay():
    layer, x = convolution(), pictures(5)
    before = layer.norm.running_mean.clone()
    layer.norm.frozen = True
    ours = layer(x)
    torch.testing.assert_close(ours, plain(layer).train()(x.unsqueeze(1)))
    assert torch.equal(layer.norm.running_mean, before)


def test_dropout_takes_whole_feature_maps():
    layer, x = convolution(dropout=0.5), pictures(40)
    thinned = layer(x).flatten(2)
    layer.dropout.p = 0.0
    whole = layer(x).flatten(2)
    dropped = (thinned == 0).all(2)
    alive = (whole != 0).any(2)
    torch.testing.assert_close(thinned, whole * 2 * ~dropped.unsqueeze(2))
    assert 0.3 < float((dropped & alive).sum() / alive.sum()) < 0.7
    assert dropped.any(0).all()  # every row drops maps of its own
    assert not dropped.all(0).any()


def test_constant_pictures_have_no_variance():
    layer = NormedConvolution(4, 3, 0.0)
    assert layer(torch.ones(3, 6, 5)).isfinite().all()
