"""Over-sampling on five triples: which are repeated, and how often."""

from __future__ import annotations

import pytest
import torch
from scipy import stats


def repeats(strategy) -> list[int]:
    return torch.bincount(strategy.epoch_edges(), minlength=10).tolist()


def test_pairs_of_one_triple_repeat_it(started, everything) -> None:
    """η = 3: the seven pairs with d = 1 get two extra draws each; (0, r0) with d = 3 none.

    In 1-N they are weights of the positives, in 1-K triples.
    """
    times = [1, 1, 1, 3, 3, 3, 3, 3, 3, 3]
    for regime in ("1-n", "1-k"):
        strategy = started("oversample", regime=regime, threshold=3)
        assert repeats(strategy) == times
        weights = strategy.positive_weights(everything)
        assert weights is None if regime == "1-k" else weights.tolist() == times
    assert strategy.coverage() == {"pairs_below_threshold": 7, "extra_per_epoch": 14}


def test_a_pair_of_three_shares_its_draws(make) -> None:
    """η = 4: (0, r0) gets one extra draw, from edges 0, 1 and 2 alike."""
    strategy = make("oversample", threshold=4)
    extra = torch.zeros(3)
    for epoch in range(600):
        strategy.start_epoch(epoch, 0)
        counts = repeats(strategy)
        assert sorted(counts[:3]) == [1, 1, 2]
        assert counts[3:] == [4] * 7
        extra += torch.tensor(counts[:3]) - 1
    assert stats.chisquare(extra.numpy()).pvalue > 0.001


def test_extra_triples_are_those_of_an_epoch(started) -> None:
    strategy = started("oversample", regime="1-k", threshold=4)
    assert strategy.extra_triples == len(strategy.epoch_edges()) - 10 == 7 * 3 + 1


@pytest.mark.parametrize("threshold", [0, 1])
def test_nothing_below_the_threshold(started, everything, threshold: int) -> None:
    strategy = started("oversample", threshold=threshold)
    assert strategy.epoch_edges().tolist() == list(range(10))
    assert set(strategy.positive_weights(everything).tolist()) == {1.0}


def test_epochs_and_seeds_differ_and_repeat(started) -> None:
    def extra(epoch: int, seed: int) -> list[int]:
        strategy = started("oversample", threshold=40, epoch=epoch, seed=seed)
        return strategy.epoch_edges().tolist()

    assert extra(2, 7) == extra(2, 7)
    assert extra(2, 7) != extra(3, 7)
    assert extra(2, 7) != extra(2, 8)
