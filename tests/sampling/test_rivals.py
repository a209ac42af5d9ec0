"""Entities that stand for all."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.sampling.rivals import draw_rivals

TAILS = torch.tensor([4, 1, 4])


def test_tails_stand_for_themselves_and_the_drawn_for_all_others() -> None:
    """Of seven entities five are no tails; two of them stand for 5/2 each."""
    chance = np.random.default_rng(0)
    for _ in range(20):
        rivals = draw_rivals(TAILS, 7, 2, chance)
        assert rivals is not None
        ids = rivals.ids.tolist()
        assert ids == sorted(set(ids))
        assert {1, 4} < set(ids) <= set(range(7))
        counts = dict(zip(ids, rivals.log_counts.exp().tolist(), strict=True))
        assert counts == pytest.approx({v: 1.0 if v in (1, 4) else 2.5 for v in ids})
        assert rivals.ids[rivals.places(TAILS)].tolist() == [4, 1, 4]


def test_the_mean_of_the_weighted_sum_is_the_sum_over_all() -> None:
    """Each of five others is drawn by two in five; its standard error over 4,000 draws is .008."""
    chance, total = np.random.default_rng(0), torch.zeros(7)
    for _ in range(4000):
        rivals = draw_rivals(TAILS, 7, 2, chance)
        assert rivals is not None
        total[rivals.ids] += rivals.log_counts.exp()
    torch.testing.assert_close(total / 4000, torch.ones(7), rtol=0, atol=0.08)


@pytest.mark.parametrize("count", [5, 6, 100])
def test_where_no_more_are_left_all_are_taken(count: int) -> None:
    assert draw_rivals(TAILS, 7, count, np.random.default_rng(0)) is None
