"""Plain training."""

from __future__ import annotations

from dglkgmix.config.classes import find
from dglkgmix.strategies.base import Strategy
from dglkgmix.strategies.standard import Standard


def test_it_is_the_contract_and_no_more() -> None:
    assert find("strategy", "standard") is Standard
    own = {name for name in vars(Standard) if not name.startswith("__")}
    assert own & set(vars(Strategy)) == set()
