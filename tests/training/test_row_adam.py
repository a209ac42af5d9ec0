"""Rows that wait end up where Adam would have taken them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dglkgmix.training import row_adam as module
from dglkgmix.training.row_adam import RowAdam

ROWS, DIM = 40, 3


class Pair:
    """The same table and one more parameter under Adam and under RowAdam."""

    def __init__(self, dtype: torch.dtype = torch.double) -> None:
        torch.manual_seed(0)
        self.plain = [nn.Parameter(torch.randn(n, DIM, dtype=dtype)) for n in (ROWS, 2)]
        self.waiting = [nn.Parameter(p.detach().clone()) for p in self.plain]
        self.adam = torch.optim.Adam(self.plain, lr=0.01)
        self.rows = RowAdam(self.waiting, self.waiting[0], 0.01, fused=False)

    def step(self, scale: float = 1.0) -> None:
        """Five of the first twenty rows get a gradient; what is read must be up to date."""
        rows = torch.randperm(ROWS // 2)[:5]
        self.rows.catch_up(rows)
        torch.testing.assert_close(self.waiting[0][rows], self.plain[0][rows])
        values = scale * torch.randn(5, DIM, dtype=self.plain[0].dtype)
        self.plain[0].grad = torch.zeros_like(self.plain[0]).index_copy_(0, rows, values)
        shape = self.plain[0].shape
        self.waiting[0].grad = torch.sparse_coo_tensor(
            rows[None], values, shape, check_invariants=False
        )
        for parameter in (self.plain[1], self.waiting[1]):
            parameter.grad = torch.ones_like(parameter)
        self.adam.step()
        self.rows.step()

    def check(self, **tolerance: float) -> None:
        self.rows.settle()
        for plain, waiting in zip(self.plain, self.waiting, strict=True):
            torch.testing.assert_close(waiting, plain, **tolerance)
            for name, value in self.adam.state[plain].items():
                torch.testing.assert_close(self.rows.state[waiting][name], value)


@pytest.mark.parametrize("dtype", [torch.double, torch.float])
def test_the_result_is_adams(dtype: torch.dtype) -> None:
    pair = Pair(dtype)
    for _ in range(200):
        pair.step()
    for optimizer in (pair.adam, pair.rows):
        optimizer.param_groups[0]["lr"] = 0.003
    for _ in range(50):
        pair.step()
    pair.check()


def test_rows_that_wait_longer_than_their_momentum_lasts() -> None:
    pair = Pair()
    pair.step()
    torch.manual_seed(1)
    for _ in range(900):
        pair.step()
    pair.check()


def test_gradients_as_small_as_epsilon() -> None:
    pair = Pair()
    for _ in range(100):
        rows = torch.randperm(ROWS // 2)[:5]
        values = 1e-8 * torch.randn(5, DIM, dtype=torch.double)
        pair.plain[0].grad = torch.zeros_like(pair.plain[0]).index_copy_(0, rows, values)
        pair.waiting[0].grad = torch.sparse_coo_tensor(
            rows[None], values, (ROWS, DIM), check_invariants=False
        )
        pair.adam.step()
        pair.rows.step()
    pair.rows.settle()
    torch.testing.assert_close(pair.waiting[0], pair.plain[0], atol=1e-3, rtol=0)


def test_rows_that_are_read_but_get_no_gradient() -> None:
    pair = Pair()
    for number in range(40):
        pair.rows.catch_up(torch.arange(number % 7, ROWS // 2, 3))
        pair.step()
        if number % 5 == 0:
            pair.rows.catch_up(torch.arange(4))
    pair.check()


def test_a_rate_that_has_decayed_to_nothing_moves_nothing() -> None:
    pair = Pair()
    for rate in (0.01, 0.0, 0.0, 0.0):
        for optimizer in (pair.adam, pair.rows):
            optimizer.param_groups[0]["lr"] = rate
        pair.step()
    pair.check()
    for optimizer in (pair.adam, pair.rows):
        optimizer.param_groups[0]["lr"] = 0.0
    pair.rows.settle()
    for _ in range(3):
        pair.step()
    pair.check()


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HORIZON", 7)
    pair = Pair()
    for _ in range(30):
        pair.step()
    pair.check()


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 2 * DIM)
    pair = Pair()
    for _ in range(10):
        pair.step()
    pair.check()


def test_a_state_goes_from_either_to_the_other() -> None:
    pair = Pair()
    for _ in range(10):
        pair.step()
    state = pair.rows.state_dict()
    pair.rows.load_state_dict(pair.adam.state_dict())
    pair.adam.load_state_dict(state)
    for _ in range(10):
        pair.step()
    pair.check()


def test_a_table_without_a_gradient_waits_for_nothing() -> None:
    pair = Pair()
    before = pair.waiting[0].detach().clone()
    pair.waiting[1].grad = torch.ones_like(pair.waiting[1])
    pair.rows.step()
    assert torch.equal(pair.waiting[0], before)
