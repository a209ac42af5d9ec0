"""Which decoders, and with which other options, are trained with softmax, Adagrad and N3."""

import pytest

from dglkgmix.config import Config
from dglkgmix.config.base import settled, stage_value, with_softmax
from dglkgmix.config.toml import apply_overrides

PAPER = {"loss": "bce", "optimizer": "adam", "label_smoothing": 0.1, "input_dropout": 0.2}
SOFTMAX = {"loss": "ce", "optimizer": "adagrad", "label_smoothing": 0.0, "input_dropout": 0.0}


@pytest.mark.parametrize(
    ("overrides", "values"),
    [
        ([], SOFTMAX),
        (["model.decoder=distmult"], SOFTMAX),
        (["training.loss=ce", "training.optimizer=adagrad"], SOFTMAX),
        (["strategy.name=mixup"], SOFTMAX),
        (["strategy.name=logit-adjustment"], SOFTMAX),
        (["model.decoder=conve"], PAPER),
        (["model.decoder=conve", "strategy.name=logit-adjustment"], PAPER | {"loss": "ce"}),
        (["model.encoder=rgcn"], SOFTMAX),
        (["training.regime=1-k"], PAPER),
        (["training.loss=bce"], PAPER),
        (["training.optimizer=adam"], PAPER),
    ],
)
def test_what_auto_stands_for(overrides, values):
    config = apply_overrides(Config(), overrides)
    assert with_softmax(config) == (values is SOFTMAX)
    assert {name: settled(config, name, "auto") for name in values} == values
    assert settled(config, "label_smoothing", 0.3) == 0.3


def test_a_first_stage_takes_the_main_one_s_value_unless_it_has_its_own():
    config = apply_overrides(Config(), ["training.loss=ce", "pretrain.label_smoothing=0.4"])
    assert stage_value(config, "pretrain", "loss") == "ce"
    assert stage_value(config, "pretrain", "label_smoothing") == 0.4
    assert stage_value(config, "training", "label_smoothing") == "auto"
