"""Batch norm: PyTorch's for many rows, running statistics for one, untouched if frozen."""

import pytest
import torch
from torch import nn

from dglkgmix.kernels.batch_norm import BatchNorm, average_statistics, frozen_statistics
from dglkgmix.processes import ALONE, Processes


def test_many_rows_are_pytorchs():
    ours, theirs = BatchNorm(3), nn.BatchNorm1d(3)
    values = torch.randn(5, 3)
    torch.testing.assert_close(ours(values), theirs(values))
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    assert ours.num_batches_tracked == 1
    torch.testing.assert_close(ours.eval()(values), theirs.eval()(values))


@pytest.mark.parametrize("rows", [0, 1])
def test_a_single_row_is_normalised_with_running_statistics(rows):
    norm = BatchNorm(2)
    norm.running_mean.fill_(1.0)
    norm.running_var.fill_(4.0 - norm.eps)
    normed = norm(torch.full((rows, 2), 5.0))
    torch.testing.assert_close(normed, torch.full((rows, 2), 2.0))  # (5 - 1) / 2
    assert norm.num_batches_tracked == 0
    assert norm.running_mean.tolist() == [1.0, 1.0]


def test_frozen_passes_use_the_batch_and_leave_statistics_alone():
    norm = BatchNorm(2)
    values = torch.tensor([[0.0, 4.0], [2.0, 8.0]])
    with frozen_statistics(nn.Sequential(norm)):
        normed = norm(values)
    torch.testing.assert_close(normed, torch.tensor([[-1.0, -1.0], [1.0, 1.0]]), atol=1e-4, rtol=0)
    assert norm.running_mean.tolist() == [0.0, 0.0]
    assert norm.running_var.tolist() == [1.0, 1.0]
    assert norm.num_batches_tracked == 0
    norm(values)
    torch.testing.assert_close(norm.running_mean, torch.tensor([0.1, 0.6]))


def test_frozen_statistics_thaw_after_an_error():
    norm = BatchNorm(1)
    with pytest.raises(RuntimeError), frozen_statistics(norm):
        raise RuntimeError
    assert not norm.frozen


def test_without_momentum_the_statistics_are_the_mean_over_batches():
    norm = BatchNorm(1)
    norm.reset_running_stats()
    norm.momentum = None
    for centre in (1.0, 2.0, 6.0):
        norm.observe(torch.tensor([centre]), torch.tensor([centre]))
    torch.testing.assert_close(norm.running_mean, torch.tensor([3.0]))
    torch.testing.assert_close(norm.running_var, torch.tensor([3.0]))


class Fours(Processes):
    """The first of two, of which the other has statistics of 4."""

    def add_up(self, *tensors):
        for tensor in tensors:
            tensor.add_(4.0)


def test_statistics_are_means_over_processes():
    norm = BatchNorm(2)
    norm.running_mean.copy_(torch.tensor([1.0, 2.0]))
    average_statistics(nn.Sequential(norm), Fours(0, 2))
    assert norm.running_mean.tolist() == [2.5, 3.0]
    assert norm.running_var.tolist() == [2.5, 2.5]
    average_statistics(norm, ALONE)
    assert norm.running_mean.tolist() == [2.5, 3.0]
