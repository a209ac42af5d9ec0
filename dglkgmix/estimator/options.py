"""The estimator's parameters as options of the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dglkgmix.config import Config
from dglkgmix.config.assembly import assemble
from dglkgmix.config.settings import OPTIONS, TRAINING
from dglkgmix.config.toml import load, merge, set_option
from dglkgmix.errors import ConfigError


def to_config(params: Mapping[str, Any]) -> Config:
    """``params["config"]``, then the parameters that differ from their defaults.

    Raises:
        ConfigError: an unknown option or a value that makes no sense, by name.
    """
    given: dict[str, Any] = dict.fromkeys(made.key for made in TRAINING.values())
    for name, made in TRAINING.items():
        if (value := params[name]) != made.default:
            # NumPy's scalars, as parameter grids hold them, as Python's.
            given[made.key] = value.item() if hasattr(value, "item") else value
    start = Config()
    # Classes first: the configuration may set options that only they have.
    for key, made in OPTIONS.items():
        if made.classes and given[key] is not None:
            start = set_option(start, key, given[key])
    return assemble(_base(params["config"], start), given)


def from_config(config: Config) -> dict[str, Any]:
    """Parameters that say what ``config`` says."""
    return {name: config.value(made.key) for name, made in TRAINING.items()}


def _base(config: Any, start: Config) -> Config:
    if config is None:
        return start
    if isinstance(config, Config):
        return config
    if isinstance(config, Mapping):
        return merge(start, config, where="config")
    if isinstance(config, str | Path):
        return load(config, start)
    raise ConfigError(
        "config must be a Config, a dictionary of tables or the path of a TOML file, "
        f"not a {type(config).__name__}"
    )


def constructor() -> inspect.Signature:
    """The parameters that scikit-learn and ``help`` see: options with a flag, and our own."""
    defaults = {name: option.default for name, option in TRAINING.items()}
    defaults |= {"validation": 0.1, "unseen": "tie", "warm_start": False}
    defaults |= {"config": None, "candidates": None, "verbose": False}
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in defaults.items()
    ]
    return inspect.Signature(parameters)
