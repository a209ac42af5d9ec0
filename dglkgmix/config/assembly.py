"""One configuration out of defaults, a recipe, a file, flags and overrides, or a stored one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dglkgmix.config.checks import validate
from dglkgmix.config.relevance import check_relevant
from dglkgmix.config.settings import Config, flag_of
from dglkgmix.config.toml import apply_overrides, differences, set_option
from dglkgmix.errors import OVERWRITE, ConfigError

# What a resumed run may change: how long and where it runs, never what it computes.
CHANGEABLE = frozenset(
    {
        "training.epochs",
        "training.patience",
        "runtime.device",
        "runtime.threads",
        "runtime.block",
        "runtime.check_memory",
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
    """``base`` with ``options`` (``table.option`` → value, None where not given) and overrides.

    Args:
        base: the defaults, a recipe or a configuration file.
        options: what flags say.
        overrides: ``table.option=value`` strings; they say more than ``options``, nothing else.
        cap: ``training.epochs`` among ``options`` caps the first stage as well, as ``--epochs``
            does.
        strict: refuse options and overrides that the whole does not read, and call ``options``
            by their flags.

    Raises:
        ConfigError: names the option; so where it is given twice, and differently.
    """
    config, given = base, [key for key, value in options.items() if value is not None]
    for key in given:
        where = (flag_of(key) or "") if strict else ""
        config = set_option(config, key, options[key], where=where)
    epochs, first = options.get("training.epochs"), config.pretrain.epochs
    if cap and epochs is not None and isinstance(first, int):
        config = set_option(config, "pretrain.epochs", min(first, epochs))
    overrides = list(overrides)
    config = overridden(config, overrides, given)
    validate(config)
    if strict:
        check_relevant(config, [*given, *map(_option_of, overrides)])
    return config


def overridden(config: Config, overrides: Iterable[str], given: Iterable[str] = ()) -> Config:
    """``overrides`` applied; what is ``given`` already they may say again, but not otherwise.

    Args:
        config: what the overrides change.
        overrides: ``table.option=value`` strings.
        given: options that ``config`` has from flags.

    Raises:
        ConfigError: names an option that is said twice, and what is said of it.
    """
    said = set(given)
    for override in overrides:
        changed, key = apply_overrides(config, [override]), _option_of(override)
        if key in said and changed != config:
            old, new = differences(config, changed)[key]
            ways = f"{flag_of(key)} or --set {key}" if flag_of(key) else f"--set {key}"
            raise ConfigError(f"{key} is given twice, as {old!r} and as {new!r} ({ways}): give one")
        config = changed
        said.add(key)
    return config


def _option_of(override: str) -> str:
    return override.partition("=")[0].strip()


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
    epochs = stored.training.epochs
    if stored.training.schedule == "cosine" and config.training.epochs not in (epochs, "auto"):
        raise ConfigError(
            f"training.epochs is {epochs} in the run and {config.training.epochs} now: with "
            'training.schedule "cosine" every rate follows from it. Leave --epochs out, or start '
            f"anew with {OVERWRITE}"
        )
    for key, (old, new) in differences(stored, config).items():
        if key in CHANGEABLE:
            continue
        if new not in ("auto", "same"):
            raise ConfigError(
                f"{key} is {old!r} in the run and {new!r} now: a resumed run goes on as it began. "
                f"Leave {key} out, or start anew with {OVERWRITE}"
            )
        config = set_option(config, key, old)  # What "auto" was settled to when the run began.
    return config
