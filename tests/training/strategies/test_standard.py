"""Plain training."""

from __future__ import annotations

from dglkgmix.training.strategies import STRATEGIES
from dglkgmix.training.strategies.base import Strategy
from dglkgmix.training.strategies.standard import Standard


def test_it_is_the_contract_and_no_more() -> None:
    assert STRATEGIES["standard"] is Standard
    own = {name for name in vars(Standard) if not name.startswith("__")}
    assert own & set(vars(Strategy)) == set()
