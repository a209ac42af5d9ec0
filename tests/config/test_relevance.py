from __future__ import annotations

import pytest

from dglkgmix.config import Config
from dglkgmix.config.classes import DECODERS, STRATEGIES
from dglkgmix.config.relevance import check_relevant, idle
from dglkgmix.config.settings import OPTIONS
from dglkgmix.errors import ConfigError

from .conftest import MIXUP, config


@pytest.mark.parametrize(
    ("overrides", "option", "reason"),
    [
        ((), "strategy.threshold", 'strategy.name "standard"'),
        (("strategy.name=focal",), "strategy.threshold", 'strategy.name "focal"'),
        (("strategy.name=oversample",), "strategy.partners", 'strategy.name "oversample"'),
        (("strategy.name=reweight",), "strategy.gamma", 'strategy.name "reweight"'),
        ((*MIXUP, "strategy.fixed_lambda=0.5"), "strategy.alpha", "--fixed-lambda"),
        ((*MIXUP, "strategy.fixed_lambda=1.0"), "strategy.lambda_range", "--fixed-lambda"),
        (("model.decoder=tucker",), "model.filters", 'model.decoder "tucker"'),
        (("model.decoder=conve",), "model.hidden_dropout1", 'model.decoder "conve"'),
        ((), "model.layers", 'model.encoder "lookup"'),
        ((), "training.negatives", "regime 1-k"),
        ((), "training.group_queries", "regime 1-k (--regime) reads it"),
        (("strategy.name=oversample",), "strategy.draws", 'strategy.name "oversample"'),
        ((*MIXUP, "model.decoder=conve"), "strategy.rivals", "--loss ce"),
        ((*MIXUP, "training.regime=1-k", "training.loss=ce"), "strategy.rivals", "regime 1-n"),
        (("training.label_smoothing=0.0",), "training.smoothing_mass", "not smoothed"),
        (
            ("pretrain.enabled=true", "pretrain.label_smoothing=0.0"),
            "pretrain.smoothing_mass",
            "not smoothed",
        ),
        ((), "training.predicted_relations", "relations are not predicted"),
        (("training.schedule=cosine",), "training.lr_decay", "exponential or plateau"),
        ((), "training.lr_patience", "only the schedule plateau"),
        (
            ("pretrain.enabled=true", "training.schedule=plateau", "pretrain.schedule=constant"),
            "pretrain.lr_patience",
            "only the schedule plateau",
        ),
        ((), "pretrain.lr", "no first stage"),
        ((*MIXUP, "pretrain.enabled=false"), "pretrain.epochs", "no first stage"),
        ((*MIXUP, "pretrain.run=there"), "pretrain.epochs", "--pretrained"),
        ((*MIXUP, "training.parent=there"), "pretrain.epochs", "--from"),
        (("pretrain.enabled=true",), "pretrain.negatives", "regime 1-k"),
        ((), "swa.start", "not averaged"),
        ((), "pretrain.swa", "no first stage"),
        ((*MIXUP, "swa.enabled=true"), "pretrain.swa_start", "pretrain.swa"),
        ((*MIXUP, "swa.enabled=false"), "swa.lr", "not averaged"),
    ],
)
def test_what_is_not_read_is_told_with_the_reason(
    overrides: tuple[str, ...], option: str, reason: str
) -> None:
    assert reason in str(idle(config(*overrides), option))
    with pytest.raises(ConfigError, match=f"{option}.* is given, but .*: leave it out"):
        check_relevant(config(*overrides), ["training.lr", option])


@pytest.mark.parametrize(
    ("overrides", "option"),
    [
        (MIXUP, "strategy.alpha"),
        (MIXUP, "pretrain.lr"),
        (MIXUP, "swa.start"),
        (("strategy.name=oversample",), "strategy.threshold"),
        (("strategy.name=reweight",), "strategy.reweight_up"),
        (("swa.enabled=true",), "swa.every"),
        ((*MIXUP, "pretrain.swa=true"), "pretrain.swa_lr"),
        (("training.regime=1-k",), "training.negatives"),
        ((*MIXUP, "pretrain.regime=1-k"), "training.negatives"),
        ((*MIXUP, "pretrain.regime=same", "training.regime=1-k"), "pretrain.filtered"),
        (("model.decoder=conve", "pretrain.enabled=true"), "pretrain.hidden_dropout"),
        ((), "pretrain.enabled"),
        ((), "pretrain.run"),
        ((), "swa.enabled"),
    ],
)
def test_what_is_read_passes(overrides: tuple[str, ...], option: str) -> None:
    assert idle(config(*overrides), option) is None


def test_the_flag_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^--partner-rule \(strategy.partner_rule\) is given"):
        check_relevant(Config(), ["strategy.partner_rule"])


def test_every_option_is_read_by_some_plan() -> None:
    plans = [
        config(f"strategy.name={name}", f"model.decoder={decoder}", *more)
        for name in STRATEGIES
        for decoder in DECODERS
        for more in (
            ("model.encoder=rgcn",),
            ("model.encoder=compgcn",),
            ("training.regime=1-k", "pretrain.regime=same", "pretrain.swa=true"),
            ("training.relation_prediction=1", "pretrain.enabled=true"),
            ("training.schedule=plateau", *(["training.loss=ce"] if name == "mixup" else [])),
        )
    ]
    unread = [option for option in OPTIONS if all(idle(plan, option) for plan in plans)]
    assert unread == []
