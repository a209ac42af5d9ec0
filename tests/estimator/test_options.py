"""Parameters as options."""

import numpy as np
import pytest

from dglkgmix.cli.train import train
from dglkgmix.config import Config
from dglkgmix.config.settings import TRAINING
from dglkgmix.errors import ConfigError
from dglkgmix.estimator import KGCompleter
from dglkgmix.estimator.options import from_config, to_config

DEFAULTS = KGCompleter().get_params()


def test_defaults_are_those_of_the_configuration():
    assert {name: DEFAULTS[name] for name in TRAINING} == from_config(Config())


def test_every_parameter_is_a_flag_of_train():
    assert TRAINING.keys() <= {parameter.name for parameter in train.params}
    others = {"validation", "unseen", "warm_start", "config", "candidates", "verbose"}
    assert set(DEFAULTS) - set(TRAINING) == others


def test_parameters_win_over_config_where_they_are_set():
    tables = {"training": {"lr": 0.01, "epochs": 7}, "model": {"entity_dim": 64}}
    config = to_config({**DEFAULTS, "epochs": np.int64(3), "config": tables})
    assert (config.training.lr, config.training.epochs, config.model.entity_dim) == (0.01, 3, 64)


def test_config_as_a_file_or_a_value(tmp_path):
    path = tmp_path / "options.toml"
    path.write_text("[training]\nlr = 0.5\n", encoding="utf-8")
    assert to_config({**DEFAULTS, "config": str(path)}).training.lr == 0.5
    assert to_config({**DEFAULTS, "config": Config()}) == Config()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"config": {"training": {"lrr": 1}}}, "lrr"),
        ({"config": 5}, "config must be"),
        ({"threshold": -1}, "threshold"),
        ({"strategy": "mixip"}, "mixip"),
        ({"epochs": "many"}, r"^training\.epochs: expected"),
        ({"model": "nowhere:Model"}, r"^model\.decoder: nowhere:Model cannot"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(params, message):
    with pytest.raises(ConfigError, match=message):
        to_config({**DEFAULTS, **params})
