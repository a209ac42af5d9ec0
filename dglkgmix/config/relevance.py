"""Options that a plan does not read: one that is named on a call is an error.

A configuration file or a recipe may hold them, as it holds every option; what is asked for by name,
as a flag or with ``--set``, must have an effect.
"""

from __future__ import annotations

from collections.abc import Iterable

from dglkgmix.config.classes import reads
from dglkgmix.config.conditions import no_first_stage
from dglkgmix.config.settings import OPTIONS, Config, flag_of, options
from dglkgmix.errors import ConfigError

_CHOSEN_BY = {made.classes: key for key, made in OPTIONS.items() if made.classes}


def check_relevant(config: Config, given: Iterable[str]) -> None:
    """Refuse options that were asked for by name and that ``config`` does not read.

    Args:
        config: the whole configuration, "auto" allowed.
        given: ``table.option`` of what flags and overrides set.

    Raises:
        ConfigError: names the first such option, its flag and the reason.
    """
    for option in given:
        reason = idle(config, option)
        if reason is not None:
            flag = flag_of(option)
            shown = f"{flag} ({option})" if flag else option
            raise ConfigError(f"{shown} is given, but {reason}: leave it out")


def idle(config: Config, key: str) -> str | None:
    """Why the option ``key`` has no effect in ``config``; None where it has one."""
    option, table = options(config)[key], key.partition(".")[0]
    if option.of:
        chooser = _CHOSEN_BY[option.of]
        choice = config.value(chooser)
        if option.name not in reads(option.of, choice):
            return f'{chooser} "{choice}" does not read it'
    if table == "pretrain" and key not in ("pretrain.enabled", "pretrain.run"):
        reason = no_first_stage(config)
        if reason is not None:
            return reason
    return option.unread(config, key) if option.unread else None
