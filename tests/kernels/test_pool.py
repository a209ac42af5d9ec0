from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor, nn

from dglkgmix.kernels.batch_norm import BatchNorm, frozen_statistics, share_statistics
from dglkgmix.kernels.convolution import NormedConvolution
from dglkgmix.kernels.pool import pooled
from dglkgmix.models.conve import ConvE
from dglkgmix.world import World


class Twin(World):
    """Two processes, of which the other does just what this one does."""

    def __init__(self) -> None:
        super().__init__(0, 2)

    def add_up(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            tensor.mul_(2)


class Idle(World):
    """Two processes, of which the other has no rows."""

    def __init__(self) -> None:
        super().__init__(0, 2)


def test_means_are_over_all_rows() -> None:
    pool = pooled(Twin(), torch.tensor([3.0, 8.0], dtype=torch.float64), rows=2, count=4)
    assert pool.means.tolist() == [0.75, 2.0]  # 6 and 16 over 8
    assert float(pool.unbiased) == 8 / 7
    assert pool.several
    assert not pooled(Idle(), torch.ones(1, dtype=torch.float64), rows=1, count=20).several


MODULES = {
    "rows": (lambda: BatchNorm(5), (4, 5)),
    "positions": (lambda: BatchNorm(1), (4, 1, 6)),
    "convolution": (lambda: NormedConvolution(3, 3, 0.0), (4, 6, 5)),
}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", MODULES)
def test_twins_compute_what_one_process_computes_of_both(kind: str, frozen: bool) -> None:
    make, shape = MODULES[kind]
    torch.manual_seed(0)
    alone = make().double()
    for parameter in alone.parameters():
        nn.init.normal_(parameter)
    twin = make().double()
    twin.load_state_dict(alone.state_dict())
    share_statistics(twin, Twin())
    half = torch.randn(shape, dtype=torch.float64)
    whole, part = torch.cat([half, half]).requires_grad_(), half.clone().requires_grad_()
    freeze = frozen_statistics if frozen else nullcontext
    with freeze(alone):
        expected = alone(whole)
    with freeze(twin):
        found = twin(part)
    weight = torch.randn_like(found)
    (expected * torch.cat([weight, weight])).sum().backward()
    (found * weight).sum().backward()
    torch.testing.assert_close(found, expected[: len(half)])
    torch.testing.assert_close(part.grad, whole.grad[: len(half)])
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(twin.state_dict()[name], value)
    for ours, theirs in zip(twin.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(2 * ours.grad, theirs.grad)


def test_a_single_row_among_all_processes_has_the_running_statistics() -> None:
    torch.manual_seed(0)
    decoder = ConvE(18, 18, input_dropout=0, feature_dropout=0, hidden_dropout=0)
    head, relation = torch.randn(2, 1, 18)
    decoder.eval()
    expected = decoder.query(head, relation)
    decoder.train()
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    share_statistics(decoder, Idle())
    torch.testing.assert_close(decoder.query(head, relation), expected)
    assert all(torch.equal(value, before[n]) for n, value in decoder.state_dict().items())
    share_statistics(decoder, Twin())
    decoder.query(head, relation)
    assert not torch.equal(decoder.output_norm.running_mean, before["output_norm.running_mean"])


def test_a_process_without_rows_takes_part() -> None:
    """Its sums are zero, and gradients reach every parameter, as zeros."""
    decoder = ConvE(18, 18).train()
    share_statistics(decoder, Twin())
    empty = torch.empty(2, 0, 18, requires_grad=True)
    decoder.query(empty[0], empty[1]).sum().backward()
    assert all(p.grad is not None and not p.grad.any() for p in decoder.parameters())
