"""The estimator's parameters as options of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dglkgmix.errors import ConfigError
from dglkgmix.training.assembly import assemble
from dglkgmix.training.config import Config
from dglkgmix.training.config_io import load, merge
from dglkgmix.training.flags import TRAINING


def to_config(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> Config:
    """``params["config"]``, then the parameters that differ from their defaults.

    Raises:
        ConfigError: an unknown option or a value that makes no sense, by name.
    """
    given = {
        option: _plain(params[name]) if params[name] != defaults[name] else None
        for name, option in TRAINING.items()
    }
    return assemble(_base(params["config"]), given)


def from_config(config: Config) -> dict[str, Any]:
    """Parameters that say what ``config`` says."""
    values = {}
    for name, option in TRAINING.items():
        table, key = option.split(".")
        values[name] = getattr(getattr(config, table), key)
    return values


def _base(config: Any) -> Config:
    if config is None:
        return Config()
    if isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        return merge(Config(), config, where="config")
    if isinstance(config, str | Path):
        return load(config)
    raise ConfigError(
        "config must be a Config, a dictionary of tables or the path of a TOML file, "
        f"not a {type(config).__name__}"
    )


def _plain(value: Any) -> Any:
    """NumPy's scalars, as parameter grids hold them, as Python's."""
    return value.item() if hasattr(value, "item") else value
