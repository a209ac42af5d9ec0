from __future__ import annotations

from dglkgmix.config import Config, DataConfig


def test_defaults_are_the_designs() -> None:
    config = Config()
    assert (config.training.regime, config.training.reduction) == ("1-n", "sum")
    assert (config.swa.start, config.swa.every, config.swa.lr) == (10, 10, 5e-4)
    assert (config.strategy.threshold, config.strategy.partners) == (5, 5)
    assert config.strategy.alpha == 1.0
    assert config.data.split == (0.8, 0.1, 0.1)
    assert config.model.edge_dropout == 1.0


def test_reading_leaves_out_what_is_automatic() -> None:
    automatic = {"columns": None, "header": False, "delimiter": None, "format": None}
    assert DataConfig().reading == automatic | {"strip": False, "normalize": None}
    asked = DataConfig(
        columns=("t", "h", "r"), header=True, delimiter=";", format="csv", normalize="nfc"
    )
    assert asked.reading == {
        "columns": ("t", "h", "r"),
        "header": True,
        "delimiter": ";",
        "format": "csv",
        "strip": False,
        "normalize": "nfc",
    }
