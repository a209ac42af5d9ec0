"""Options by name."""

from __future__ import annotations

import pytest

from dglkgmix.config import Config
from dglkgmix.config.classes import DECODERS, STRATEGIES, find, title
from dglkgmix.config.settings import OPTIONS, READING, TRAINING, flag_of, options
from dglkgmix.errors import ConfigError


def test_every_flag_stands_for_one_option() -> None:
    assert not TRAINING.keys() & READING.keys()
    named = [made.key for made in [*TRAINING.values(), *READING.values()]]
    assert len(set(named)) == len(named)
    assert TRAINING["model"].key == "model.decoder"
    assert flag_of("strategy.partner_rule") == "--partner-rule"
    assert flag_of("data.source") == "SOURCE"
    assert flag_of("model.filters") is None


def test_every_option_has_a_line_of_help_and_values_of_its_type() -> None:
    for key, made in OPTIONS.items():
        assert made.help.endswith((".", "…")), key
        assert "\n" not in made.help, key
        assert made.default in made.words or made.types, key
        if made.bounds and not isinstance(made.default, str):
            assert made.bounds.holds(made.default), key


def test_values_and_items() -> None:
    config = Config()
    assert config.value("training.patience") == 10
    assert {made.key: value for made, value in config.items()}["swa.lr"] == 5e-4
    assert list(options(config)) == list(OPTIONS)


@pytest.mark.parametrize("table", [{"training": {"epochs": 1}}, {"strategy": "mixup"}])
def test_a_table_of_another_type_is_named(table) -> None:
    with pytest.raises(ConfigError, match=r"(training: expected a Train|strategy: expected a Str)"):
        Config(**table)


def test_what_a_decoder_says_of_its_probabilities() -> None:
    """σ(score) is none after softmax, nor of a distance."""
    from dglkgmix.config.toml import apply_overrides

    said = [
        apply_overrides(Config(), overrides).sigmoid_is_probability
        for overrides in (
            ["model.decoder=conve"],
            ["training.loss=ce"],
            [],
            ["model.decoder=transe"],
        )
    ]
    assert said == [True, False, False, False]


def test_what_auto_means_is_what_the_classes_say() -> None:
    biased = [title("decoder", name) for name in DECODERS if find("decoder", name).bias_by_default]
    assert OPTIONS["model.bias"].auto == f"for {' and '.join(biased)}"
    for key, attribute in (("pretrain.enabled", "two_stage"), ("swa.enabled", "averaged")):
        names = [name for name in STRATEGIES if getattr(find("strategy", name), attribute)]
        assert OPTIONS[key].auto == f"for {' and '.join(names)}"
