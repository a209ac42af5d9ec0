"""Search spaces: which options a search may set, and to what.

A space file has two tables. ``[settings]`` holds options of every trial and ``recipe``, what they
start from. ``[space]`` maps options to a list of values, one of which is taken, or to a range:
``{ low = 1e-5, high = 1e-2, log = true }``; whole numbers at both ends make a range of whole
numbers, ``step`` makes it coarser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dglkgmix.config import Config
from dglkgmix.config.checks import validate_alone
from dglkgmix.config.toml import set_option
from dglkgmix.errors import ConfigError
from dglkgmix.experiments import toml_files
from dglkgmix.experiments.grid import Options, flatten, known_options, pop_recipe
from dglkgmix.experiments.recipes import FOLDER
from dglkgmix.paths import path_of, read_utf8

_RANGE = ("low", "high", "log", "step")


class Suggests(Protocol):
    """What a space asks of an Optuna trial."""

    def suggest_categorical(self, name: str, choices: list[Any]) -> Any:
        """One of ``choices``."""

    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        """A whole number from ``low`` to ``high``."""

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """A number from ``low`` to ``high``."""


@dataclass(frozen=True)
class Range:
    """Numbers between two ends, both included."""

    low: float
    high: float
    log: bool = False
    step: float | None = None


@dataclass(frozen=True)
class Space:
    """Fixed options, the recipe that they start from, and the choices for the others."""

    settings: Options
    choices: dict[str, list[Any] | Range]
    recipe: str | None = None

    def suggest(self, trial: Suggests) -> Options:
        """A value for each option that is searched over."""
        return {option: _suggest(trial, option, choice) for option, choice in self.choices.items()}


def space_text(name: str) -> str:
    """The text of a space file, or of the packaged space called ``name``.

    Raises:
        ConfigError: no such file, and no packaged space of that name.
    """
    if name in packaged_spaces():
        return read_utf8(FOLDER / "spaces" / f"{name}.toml")
    if not name.endswith(".toml") and not path_of(name).exists():
        close = toml_files.close(name, packaged_spaces())
        raise ConfigError(f"{name}: neither a file nor a packaged search space{close}")
    return read_utf8(name)


def packaged_spaces() -> list[str]:
    """The search spaces that come with the package, sorted."""
    return sorted(path.stem for path in (FOLDER / "spaces").glob("*.toml"))


def parse_space(text: str, where: str = "space") -> Space:
    """Check the text of a space file.

    Raises:
        ConfigError: unknown keys or options (with close matches), values that an option cannot
            take, ranges that are empty; the message starts with ``where``.
    """
    tables = toml_files.parse(text, where)
    toml_files.refuse_unknown(tables, ("settings", "space"), where)
    if not tables.get("space"):
        raise ConfigError(f"{where}: the table [space] is missing or empty")
    settings = dict(toml_files.typed({"s": tables.get("settings", {})}, "s", dict, where))
    recipe = pop_recipe(settings, f"{where}: [settings]")
    known = known_options(tables, where)
    fixed = flatten(settings, f"{where}: [settings]", known)
    place = f"{where}: [space]"
    options = flatten(toml_files.typed(tables, "space", dict, where), place, known)
    choices = {
        option: _choice(option, value, place, known[option]) for option, value in options.items()
    }
    for option in choices:
        if option in fixed:
            raise ConfigError(f"{where}: {option} is in [settings] and in [space]")
    return Space(fixed, choices, recipe)


def _choice(option: str, value: Any, where: str, of: tuple[str, str] | None) -> list[Any] | Range:
    if isinstance(value, list) and value:
        for one in value:
            _check(option, one, where, of)
        return value
    if isinstance(value, dict):
        return _range(option, value, f"{where}: {option}", of)
    raise ConfigError(
        f"{where}: {option} must be a list of values or a range {{ low = …, high = … }}, "
        f"not {value!r}"
    )


def _range(option: str, table: Mapping[str, Any], where: str, of: tuple[str, str] | None) -> Range:
    toml_files.refuse_unknown(table, _RANGE, where)
    for key in ("low", "high"):
        if key not in table:
            raise ConfigError(f"{where}: a range needs low and high")
    kinds: dict[str, type | tuple[type, ...]] = dict.fromkeys(_RANGE, (int, float))
    kinds["log"] = bool
    found = Range(**{key: toml_files.typed(table, key, kinds[key], where) for key in table})
    if found.low >= found.high:
        raise ConfigError(f"{where}: low must be below high")
    if found.log and (found.low <= 0 or found.step is not None):
        raise ConfigError(f"{where}: log needs a low above 0 and no step")
    whole = isinstance(found.low, int) and isinstance(found.high, int)
    if found.step is not None and (found.step <= 0 or (whole and found.step != int(found.step))):
        raise ConfigError(f"{where}: step must be above 0, and whole between whole numbers")
    for end in (found.low, found.high):
        _check(option, end, where, of)
    return found


def _check(option: str, value: Any, where: str, of: tuple[str, str] | None) -> None:
    """Refuse now what every trial with the value would be refused for.

    ``of`` names the class of the user's that has the option.
    """
    base = Config() if of is None else set_option(Config(), *of)
    config = set_option(base, option, value, where=where)
    try:
        validate_alone(config)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _suggest(trial: Suggests, option: str, choice: list[Any] | Range) -> Any:
    if isinstance(choice, list):
        return trial.suggest_categorical(option, choice)
    if isinstance(choice.low, int) and isinstance(choice.high, int):
        step = int(choice.step or 1)
        return trial.suggest_int(option, choice.low, choice.high, step=step, log=choice.log)
    return trial.suggest_float(option, choice.low, choice.high, step=choice.step, log=choice.log)
