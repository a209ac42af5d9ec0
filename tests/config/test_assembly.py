from __future__ import annotations

import pytest

from dglkgmix.config import Config
from dglkgmix.config.assembly import CHANGEABLE, assemble, resumed
from dglkgmix.config.settings import OPTIONS
from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import ConfigError

RECIPE = apply_overrides(
    Config(), ["training.epochs=400", "pretrain.epochs=500", "training.lr=0.5"]
)


def test_flags_and_overrides_win_over_the_base() -> None:
    config = assemble(RECIPE, {"training.epochs": 9, "swa.enabled": None}, ["training.lr=0.125"])
    assert (config.training.lr, config.training.epochs) == (0.125, 9)
    assert config.swa.enabled == "auto"
    assert assemble(RECIPE, {"training.lr": 0.25}).training.lr == 0.25
    assert assemble(RECIPE, {"training.lr": None}).training.lr == 0.5


@pytest.mark.parametrize(
    ("given", "overrides", "message"),
    [
        (
            {"training.epochs": 5},
            ["training.epochs=7"],
            r"epochs is given twice, as 5 and as 7 \(--epochs or --set training\.epochs\): give",
        ),
        (
            {"data.source": "codex-s"},
            ["data.source=world"],
            r"as 'codex-s' and as 'world' \(SOURCE or --set data\.source\): give one",
        ),
        ({}, ["training.n3=0.5", "training.n3=1"], r"0\.5 and as 1\.0 \(--set training\.n3\)"),
    ],
)
def test_an_option_is_not_said_twice_in_two_ways(
    given: dict[str, object], overrides: list[str], message: str
) -> None:
    for strict in (False, True):
        with pytest.raises(ConfigError, match=message):
            assemble(RECIPE, given, overrides, strict=strict)


def test_the_same_may_be_said_twice() -> None:
    config = assemble(RECIPE, {"training.lr": 0.25}, ["training.lr = 0.25", "training.lr=0.25"])
    assert config.training.lr == 0.25


@pytest.mark.parametrize(
    ("epochs", "overrides", "expected"),
    [
        (None, [], (400, 500)),
        (2, [], (2, 2)),
        (2, ["pretrain.epochs=7"], (2, 7)),
        (450, [], (450, 450)),
        (600, [], (600, 500)),
    ],
)
def test_epochs_cap_every_stage_unless_said_otherwise(
    epochs: int | None, overrides: list[str], expected: tuple[int, int]
) -> None:
    config = assemble(RECIPE, {"training.epochs": epochs}, overrides)
    assert (config.training.epochs, config.pretrain.epochs) == expected


def test_epochs_reach_a_first_stage_that_follows_the_main_one() -> None:
    config = assemble(Config(), {"training.epochs": 3})
    assert (config.training.epochs, config.pretrain.epochs) == (3, "same")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"training.epochs must be 1 or more, got 0"):
        assemble(Config(), {"training.epochs": 0})


def test_what_may_change_exists() -> None:
    assert set(OPTIONS) >= CHANGEABLE


def test_a_resumed_run_may_go_on_longer_and_elsewhere() -> None:
    changes = {"training.epochs": 900, "runtime.device": "cpu"}
    config = resumed(RECIPE, changes, ["runtime.threads=3"])
    assert (config.training.epochs, config.pretrain.epochs) == (900, 500)
    assert config.runtime.threads == 3
    for same in ({}, {"training.lr": 0.5, "training.epochs": 400}):
        assert resumed(RECIPE, same) == RECIPE


@pytest.mark.parametrize(
    "override",
    [
        "training.lr=0.1",
        "strategy.name=mixup",
        "runtime.seed=1",
        "pretrain.epochs=1",
        "swa.every=3",
    ],
)
def test_a_resumed_run_may_not_change_what_it_computes(override: str) -> None:
    key = override.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"^{key} is .* in the run and .* now: "):
        resumed(RECIPE, {}, [override])


def test_epochs_stay_where_every_rate_follows_from_them() -> None:
    stored = apply_overrides(RECIPE, ["training.schedule=cosine"])
    assert resumed(stored, {"training.epochs": "auto"}).training.schedule == "cosine"
    with pytest.raises(ConfigError, match=r"training.epochs is 400 .* 900 now: .*cosine"):
        resumed(stored, {"training.epochs": 900})


def test_auto_means_what_it_meant_when_the_run_began() -> None:
    stored = apply_overrides(RECIPE, ["training.batch_size=64", "swa.enabled=true"])
    config = resumed(stored, {}, ["training.batch_size=auto", "swa.enabled=auto"])
    assert config == stored


def test_a_strict_assembly_refuses_what_nothing_reads() -> None:
    """What somebody asks for by name must have an effect; a file may hold what it likes."""
    for given, overrides in (({"strategy.alpha": 2.0}, []), ({}, ["strategy.alpha = 2.0"])):
        assert assemble(Config(), given, overrides).strategy.alpha == 2.0
        with pytest.raises(ConfigError, match=r"strategy\.alpha"):
            assemble(Config(), given, overrides, strict=True)
        mixup = {"strategy.name": "mixup"}
        assert assemble(Config(), mixup | given, overrides, strict=True).strategy.alpha == 2.0
    held = assemble(Config(), {"strategy.alpha": 2.0})
    assert assemble(held, {"training.lr": 0.5}, strict=True).strategy.alpha == 2.0
    with pytest.raises(ConfigError, match=r"swa\.start"):
        resumed(held, {}, ["swa.start=10"], strict=True)
