"""What a strategy adds unless it says otherwise: nothing."""

from __future__ import annotations

from dglkgmix.config import StrategyConfig
from dglkgmix.strategies.base import Strategy
from tests.settings import settled_training


def test_nothing_is_added(five, everything) -> None:
    strategy = Strategy(five, StrategyConfig(), settled_training())
    strategy.start_epoch(1, 0)
    assert strategy.epoch_edges() is None
    assert strategy.positive_weights(everything) is None
    assert strategy.synthetic(everything) is None
    assert (strategy.focus, strategy.scaled, strategy.adjustment) == (None, False, None)
    assert strategy.coverage() == {}
