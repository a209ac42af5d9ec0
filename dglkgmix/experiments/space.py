"""Search spaces: which options a search may set, and to what.

A space file has two tables. ``[settings]`` holds options of every trial and ``recipe``, what they
start from. ``[space]`` maps options to a list of values, one of which is taken, or to a range:
``{ low = 1e-5, high = 1e-2, log = true }``; whole numbers at both ends make a range of whole
numbers, ``step`` makes it coarser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dglkgmix.config import Config
from dglkgmix.config.checks import validate_alone
from dglkgmix.config.toml import parse, refuse_unknown, set_option, typed
from dglkgmix.errors import ConfigError
from dglkgmix.experiments.grid import Options, flatten, known_options, parse_options


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, both included."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are meant: both ends are."""
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True)
class Space:
    """Fixed options, the recipe that they start from, and the choices for the others."""

    settings: Options
    choices: dict[str, list[Any] | Range]
    recipe: str | None = None

    def suggest(self, trial: Any) -> Options:
        """A value for each option that is searched over, asked of an Optuna trial."""
        found: Options = {}
        for option, choice in self.choices.items():
            if isinstance(choice, list):
                found[option] = trial.suggest_categorical(option, choice)
                continue
            suggest, step = trial.suggest_float, choice.step
            if choice.whole:
                suggest, step = trial.suggest_int, int(step or 1)
            found[option] = suggest(option, choice.low, choice.high, step=step, log=choice.log)
        return found


def parse_space(text: str, where: str = "space") -> Space:
    """Check the text of a space file.

    Raises:
        ConfigError: unknown keys or options (with close matches), values that an option cannot
            take, ranges that are empty; the message starts with ``where``.
    """
    tables = parse(text, where)
    refuse_unknown(tables, ("settings", "space"), where)
    if not tables.get("space"):
        raise ConfigError(f"{where}: the table [space] is missing or empty")
    known = known_options(tables, where)
    tables = {"settings": {}} | tables
    settings = typed(tables, "settings", dict, where)
    fixed, recipe = parse_options(settings, f"{where}: [settings]", known)
    place = f"{where}: [space]"
    choices = flatten(typed(tables, "space", dict, where), place, known)
    for option, value in choices.items():
        if option in fixed:
            raise ConfigError(f"{where}: {option} is in [settings] and in [space]")
        values = value
        if isinstance(value, dict):
            choices[option] = found = _range(value, f"{place}: {option}")
            values = (found.low, found.high)
        elif not isinstance(value, list) or not value:
            raise ConfigError(
                f"{place}: {option} must be a list of values or a range "
                f"{{ low = …, high = … }}, not {value!r}"
            )
        # Refused now is what every trial with the value would be refused for.
        chooser = known[option]
        base = Config() if chooser is None else set_option(Config(), *chooser)
        for one in values:
            config = set_option(base, option, one, where=place)
            try:
                validate_alone(config)
            except ConfigError as error:
                raise ConfigError(f"{place}: {error}") from None
    return Space(fixed, choices, recipe)


def _range(table: Mapping[str, Any], where: str) -> Range:
    kinds: dict[str, type | tuple[type, ...]] = dict.fromkeys(("low", "high"), (int, float))
    kinds |= {"log": bool, "step": (int, float)}
    refuse_unknown(table, kinds, where)
    if not {"low", "high"} <= set(table):
        raise ConfigError(f"{where}: a range needs low and high")
    found = Range(**{key: typed(table, key, kinds[key], where) for key in table})
    if found.low >= found.high:
        raise ConfigError(f"{where}: low must be below high")
    if found.log and (found.low <= 0 or found.step is not None):
        raise ConfigError(f"{where}: log needs a low above 0 and no step")
    if found.step is not None and (
        found.step <= 0 or (found.whole and found.step != int(found.step))
    ):
        raise ConfigError(f"{where}: step must be above 0, and whole between whole numbers")
    return found
