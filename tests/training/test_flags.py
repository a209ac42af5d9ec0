"""Names of options on the command line and in the estimator."""

from __future__ import annotations

from dglkgmix.training.config_io import options
from dglkgmix.training.flags import READING, TRAINING


def test_every_name_stands_for_one_option_that_exists() -> None:
    assert not TRAINING.keys() & READING.keys()
    named = [*TRAINING.values(), *READING.values()]
    assert len(set(named)) == len(named)
    assert set(named) <= set(options())
    assert TRAINING["model"] == "model.decoder"
