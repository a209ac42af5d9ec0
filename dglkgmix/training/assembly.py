"""One configuration out of defaults, a recipe, a file, flags and overrides, or a stored one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dglkgmix.errors import ConfigError
from dglkgmix.training.config import Config
from dglkgmix.training.config_io import apply_overrides, differences, set_option
from dglkgmix.training.relevance import check_relevant
from dglkgmix.training.validation import validate

# What a resumed run may change: how long and where it runs, never what it computes.
CHANGEABLE = frozenset(
    {
        "training.epochs",
        "training.patience",
        "runtime.device",
        "runtime.threads",
        "runtime.block",
        "runtime.save_every",
    }
)


def assemble(
    base: Config,
    options: Mapping[str, Any],
    overrides: Iterable[str] = (),
    *,
    cap: bool = True,
    strict: bool = False,
) -> Config:
    """``base`` with ``options`` (``table.option`` → value, None where not given), then overrides.

    Args:
        base: the defaults, a recipe or a configuration file.
        options: what flags say.
        overrides: ``table.option=value`` strings, which win.
        cap: ``training.epochs`` among ``options`` caps the first stage as well, as ``--epochs``
            does.
        strict: refuse options and overrides that the whole does not read.

    Raises:
        ConfigError: names the option.
    """
    config = base
    for key, value in options.items():
        if value is not None:
            config = set_option(config, key, value)
    epochs, first = options.get("training.epochs"), config.pretrain.epochs
    if cap and epochs is not None and isinstance(first, int):
        config = set_option(config, "pretrain.epochs", min(first, epochs))
    overrides = list(overrides)
    config = apply_overrides(config, overrides)
    validate(config)
    if strict:
        given = [key for key, value in options.items() if value is not None]
        check_relevant(config, [*given, *(key.partition("=")[0].strip() for key in overrides)])
    return config


def resumed(
    stored: Config,
    options: Mapping[str, Any],
    overrides: Iterable[str] = (),
    *,
    strict: bool = False,
) -> Config:
    """The configuration of a run that goes on: as stored, but for what may change.

    Raises:
        ConfigError: names an option whose value would change the computation.
    """
    config = assemble(stored, options, overrides, cap=False, strict=strict)
    for key, (old, new) in differences(stored, config).items():
        if key not in CHANGEABLE and new not in ("auto", "same"):
            raise ConfigError(
                f"{key} is {old!r} in the run and {new!r} now: a resumed run goes on as it began. "
                f"Leave {key} out, or start anew with --overwrite"
            )
    return _kept(stored, config)


def _kept(stored: Config, config: Config) -> Config:
    """Options asked for as "auto" keep what "auto" was settled to when the run began."""
    for key, (old, new) in differences(stored, config).items():
        if new in ("auto", "same") and key not in CHANGEABLE:
            config = set_option(config, key, old)
    return config
