"""The parts of ``training.select`` and their weights."""

from __future__ import annotations

import pytest

from dglkgmix.config import Config
from dglkgmix.config.checks import validate_alone
from dglkgmix.config.goal import GOALS, MRR, goal_parts
from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import ConfigError
from dglkgmix.kg.degrees import DegreeBins


def test_goals_are_the_bins_by_default() -> None:
    assert (MRR, *DegreeBins().names) == GOALS


@pytest.mark.parametrize(
    ("select", "parts"),
    [
        ("mrr", {"mrr": 1.0}),
        ("low", {"low": 1.0}),
        ("zero=0.5, low=1.5", {"zero": 0.25, "low": 0.75}),
        ("mrr,low", {"mrr": 0.5, "low": 0.5}),
    ],
)
def test_weights_add_up_to_1(select: str, parts: dict[str, float]) -> None:
    assert goal_parts(select) == parts


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("rare", "'rare' is unknown: take one of mrr, zero, low, medium, high"),
        ("", "'' is unknown"),
        ("low,low=2", "'low' is given twice"),
        ("low=0", "the weight of low must be a number above 0"),
        ("low=much", "the weight of low must be a number above 0"),
        ("low=inf", "the weight of low must be a number above 0"),
    ],
)
def test_what_is_no_goal_is_refused_by_name(select: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^training.select .*{message}"):
        validate_alone(apply_overrides(Config(), [f"training.select='{select}'"]))
