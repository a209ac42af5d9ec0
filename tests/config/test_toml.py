from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.config import Config, DataConfig, TrainingConfig
from dglkgmix.config.settings import OPTIONS
from dglkgmix.config.toml import (
    apply_overrides,
    differences,
    dumps,
    load,
    loads,
    merge,
    refuse_unknown,
    set_option,
    typed,
)
from dglkgmix.errors import ConfigError


def test_every_option_is_written_once_under_its_table() -> None:
    lines = dumps(Config()).splitlines()
    assert [line for line in lines if line.startswith("[")] == [
        "[data]",
        "[model]",
        "[training]",
        "[strategy]",
        "[pretrain]",
        "[swa]",
        "[runtime]",
    ]
    assert sum("=" in line for line in lines) == len(OPTIONS)


@given(
    source=st.text(st.characters(blacklist_categories=["Cs"])),
    lr=st.floats(1e-300, 1e300),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_text_and_number_survives_a_round_trip(source: str, lr: float, seed: int) -> None:
    config = Config(data=DataConfig(source=source), training=TrainingConfig(lr=lr))
    config = dataclasses.replace(config, runtime=dataclasses.replace(config.runtime, seed=seed))
    assert loads(dumps(config)) == config


def test_partial_files_leave_the_rest_alone() -> None:
    config = loads("[training]\nlr = 1e-2\n[swa]\nenabled = true\n")
    assert differences(Config(), config) == {
        "training.lr": ("auto", 0.01),
        "swa.enabled": ("auto", True),
    }


def test_a_whole_number_does_where_a_fraction_is_wanted_but_not_the_other_way() -> None:
    value = loads("[strategy]\nalpha = 2").strategy.alpha
    assert value == 2.0
    assert isinstance(value, float)
    with pytest.raises(ConfigError, match=r"strategy.partners: expected a whole number, got 2.5"):
        loads("[strategy]\npartners = 2.5")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.learning_rate=3", r"unknown option 'training.learning_rate'; did you mean .*lr"),
        ("lr=3", r"unknown option 'lr'; did you mean training.lr"),
        ("trainin.lr=3", r"did you mean training.lr"),
        ("loss.smoothing=3", r"did you mean training.label_smoothing, training.smoothing_mass, "),
        ("model.dim=3", r"did you mean model.entity_dim, model.relation_dim\?$"),
        ("loss.label_smoothing=3", r"did you mean training.label_smoothing, "),
        ("qqq=3", r"unknown option 'qqq'$"),
        ("training.lr", r"expected table.option=value"),
        ("training.lr=fast", r'training.lr: expected a number or "auto", got "fast"'),
        ("training.epochs=true", r'training.epochs: expected a whole number or "auto", got true'),
        ("model.bias=1", r'model.bias: expected true or false or "auto", got 1'),
        ("model.decoder=conv", r'model.decoder: expected "conve" or .*got "conv"'),
        ("data.columns=[1, 2]", r"data.columns: expected a list of strings, got \[1, 2\]"),
        ("data.split=[1]", r"data.split: expected a list of 3 numbers, got \[1\]"),
        ("data.split=abc", r'data.split: expected a list of 3 numbers, got "abc"'),
        ("training=3", r"unknown option 'training'"),
    ],
)
def test_wrong_overrides_are_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        apply_overrides(Config(), [override])


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("training.lr=1e-3", 0.001),
        ("training.lr = 1", 1.0),
        ("training.epochs=auto", "auto"),
        ('training.epochs="auto"', "auto"),
        ("strategy.name=logit-adjustment", "logit-adjustment"),
        ("data.source=/data/my graph=2", "/data/my graph=2"),
        ("data.split=[0.5, 0.25, 0.25]", (0.5, 0.25, 0.25)),
        ('data.columns=["head", "_", "relation", "tail"]', ("head", "_", "relation", "tail")),
        ("pretrain.enabled=false", False),
    ],
)
def test_override_values_are_toml_or_bare_words(override: str, value: object) -> None:
    config = apply_overrides(Config(), [override])
    table, _, rest = override.partition(".")
    name = rest.partition("=")[0].strip()
    assert getattr(getattr(config, table), name) == value


def test_the_last_override_wins() -> None:
    assert apply_overrides(Config(), ["swa.every=2", "swa.every=3"]).swa.every == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[trainin]\nlr = 1", r"here: unknown table \[trainin\]; did you mean training"),
        ("training = 3", r"here: training is a table, not 3"),
        ("[training\n", r"here: not a TOML file"),
        ("[training]\nlr = 1\nlr = 2", r"here: not a TOML file"),
    ],
)
def test_wrong_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        loads(text, where="here")


@settings(max_examples=100)
@given(st.text())
def test_any_text_is_a_configuration_or_one_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(loads(text), Config)


def test_unreadable_files_are_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"missing.toml: cannot be read"):
        load(tmp_path / "missing.toml")
    (tmp_path / "good.toml").write_text("[swa]\nevery = 7\n")
    assert load(tmp_path / "good.toml").swa.every == 7


def test_merge_and_set_option_do_not_touch_what_they_are_given() -> None:
    config = Config()
    assert merge(config, {"swa": {"every": 3}}).swa.every == 3
    assert set_option(config, "swa.every", 4).swa.every == 4
    assert config == Config()


def test_a_file_of_0_1_0_is_read() -> None:
    """The defaults of 0.1.0, read today: those of today but for the ones set here."""
    text = (Path(__file__).parent / "config-0.1.0.toml").read_text(encoding="utf-8")
    # Today's "auto" of these had one value at that time.
    config = set_option(Config(), "model.decoder", "conve")
    values = {
        "lr_decay": 1.0,
        "loss": "bce",
        "optimizer": "adam",
        "label_smoothing": 0.1,
        "n3": 0.0,
    }
    for name, value in values.items():
        config = set_option(config, f"training.{name}", value)
    config = set_option(config, "model.input_dropout", 0.2)
    config = set_option(config, "strategy.tau", 1.0)
    config = set_option(config, "strategy.synthetic_weight", 1.0)
    assert loads(text) == config
    written = [line for line in dumps(config).splitlines() if line and line in text.splitlines()]
    assert written == [line for line in text.splitlines() if line]


def test_only_what_differs_from_another_configuration_is_written() -> None:
    assert dumps(Config(), Config()).strip() == ""
    config = loads('[model]\ndecoder = "tucker"\n[training]\nlr = 0.5\n')
    text = dumps(config, Config())
    assert text.splitlines() == ["[model]", 'decoder = "tucker"', "", "[training]", "lr = 0.5"]
    assert loads(text) == config


def test_unknown_keys_come_with_near_misses_or_the_whole_list():
    refuse_unknown({"seeds": 1}, ["seeds", "grid"], "x")
    with pytest.raises(ConfigError, match=r"^x: unknown key 'seed'; did you mean seeds\?$"):
        refuse_unknown({"seed": 1}, ["seeds", "grid"], "x")
    with pytest.raises(ConfigError, match=r"unknown key 'zzz'; known: grid, seeds$"):
        refuse_unknown({"zzz": 1}, ["seeds", "grid"], "x")
    with pytest.raises(ConfigError, match=r"unknown key 'zzz'$"):
        refuse_unknown({"zzz": 1}, [f"option {i}" for i in range(13)], "x")


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        ("x", int, "a whole number"),
        (True, int, "a whole number"),
        (True, (int, float), "a whole number or a number"),
        (1, bool, "true or false"),
        (1, list, "a list"),
        ([], dict, "a table"),
        (1.5, str, "a string"),
    ],
)
def test_a_value_of_another_type_is_refused(value, kind, wanted):
    with pytest.raises(ConfigError, match=f"x: key must be {wanted}, not "):
        typed({"key": value}, "key", kind, "x")
    assert typed({"key": 2}, "key", (int, float), "x") == 2
