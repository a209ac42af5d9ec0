"""Rows of unequal length."""

from __future__ import annotations

import torch

from dglkgmix.kg.ragged import expand


def test_stretches_come_one_after_the_other() -> None:
    rows, positions = expand(torch.tensor([10, 3, 0, 7]), torch.tensor([2, 0, 3, 1]))
    assert rows.tolist() == [0, 0, 2, 2, 2, 3]
    assert positions.tolist() == [10, 11, 0, 1, 2, 7]


def test_nothing_expands_to_nothing() -> None:
    empty = torch.empty(0, dtype=torch.long)
    for begin, counts in ((empty, empty), (torch.tensor([4]), torch.tensor([0]))):
        rows, positions = expand(begin, counts)
        assert rows.dtype == positions.dtype == torch.long
        assert len(rows) == len(positions) == 0
