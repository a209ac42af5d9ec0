"""Reasons why a stage does not read an option."""

from __future__ import annotations

from dglkgmix.config.conditions import no_first_stage, where_read
from dglkgmix.config.relevance import idle

from .conftest import MIXUP, config


def test_whether_there_is_a_first_stage() -> None:
    assert [
        no_first_stage(config(*MIXUP, *more)) is None
        for more in (
            (),
            ("pretrain.enabled=false",),
            ("pretrain.run=there",),
            ("training.parent=there",),
        )
    ] == [True, False, False, False]
    assert [no_first_stage(config(*more)) is None for more in ((), ("pretrain.enabled=true",))] == [
        False,
        True,
    ]


def test_the_first_stage_takes_over_what_it_does_not_set() -> None:
    both = config(*MIXUP, "training.regime=1-k", "pretrain.regime=1-n")
    assert where_read(both, "training.negatives", "regime") == ["1-k", "1-n"]
    own = config(*MIXUP, "training.regime=1-k", "pretrain.negatives=3")
    assert where_read(own, "training.negatives", "regime") == ["1-k"]
    assert where_read(own, "pretrain.negatives", "regime") == ["1-n"]


def test_negatives_of_both_stages_apart() -> None:
    """A first stage with negatives of its own does not read the main stage's."""
    both = config(*MIXUP, "pretrain.regime=1-k", "pretrain.negatives=5")
    assert idle(both, "pretrain.negatives") is None
    assert "regime 1-k" in str(idle(both, "training.negatives"))


def test_smoothing_of_both_stages_apart() -> None:
    """The mass of the main stage is read where its first stage smooths, and takes it over."""
    plain = ("training.label_smoothing=0.0", "pretrain.label_smoothing=0.1")
    assert idle(config(*MIXUP, *plain), "training.smoothing_mass") is None
    assert idle(config(*MIXUP, *plain), "pretrain.smoothing_mass") is None
    own = config(*MIXUP, *plain, "pretrain.smoothing_mass=0.5")
    assert "not smoothed" in str(idle(own, "training.smoothing_mass"))
    assert idle(config("model.decoder=conve"), "training.smoothing_mass") is None
    assert "not smoothed" in str(idle(config(), "training.smoothing_mass"))
