"""Configuration files: TOML in and out, overrides, and every unknown or mistyped key refused."""

from __future__ import annotations

import dataclasses
import difflib
import json
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dglkgmix.errors import ConfigError
from dglkgmix.paths import read_utf8, readable
from dglkgmix.training.config import Config

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

T = TypeVar("T")


def loads(text: str, base: Config | None = None, *, where: str = "configuration") -> Config:
    """Read TOML on top of ``base`` (the defaults where left out).

    Raises:
        ConfigError: text that is no TOML, an unknown key (with close matches) or a value of
            another type; the message starts with ``where``.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not a TOML file: {error}") from None
    return merge(base or Config(), tables, where=where)


def load(path: str | Path, base: Config | None = None) -> Config:
    """Read a configuration file; see :func:`loads`."""
    return loads(read_utf8(path), base, where=str(path))


def dumps(config: Config) -> str:
    """Write ``config`` as TOML that :func:`loads` reads back to an equal value."""
    parts = []
    for table in dataclasses.fields(config):
        section = getattr(config, table.name)
        lines = [
            f"{f.name} = {_toml(getattr(section, f.name))}" for f in dataclasses.fields(section)
        ]
        parts.append("\n".join([f"[{table.name}]", *lines]))
    return "\n\n".join(parts) + "\n"


def merge(config: Config, tables: Mapping[str, Any], *, where: str = "configuration") -> Config:
    """Replace what ``tables`` (table → option → value) names; the rest stays."""
    sections = {}
    for name, values in tables.items():
        if name not in _sections():
            raise ConfigError(f"{where}: unknown table [{name}]{_close(name, _sections())}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where}: {name} is a table, not {_shown(values)}")
        sections[name] = _merge_section(getattr(config, name), name, values, where)
    return dataclasses.replace(config, **sections)


def apply_overrides(config: Config, overrides: Iterable[str], *, where: str = "--set") -> Config:
    """Apply ``table.option=value`` strings; values are TOML, or bare words.

    ``apply_overrides(config, ["training.lr=1e-3", "strategy.name=mixup"])``
    """
    for override in overrides:
        key, found, text = override.partition("=")
        if not found:
            raise ConfigError(f"{where} {override}: expected table.option=value")
        config = set_option(config, key.strip(), _value(text.strip()), where=where)
    return config


def set_option(config: Config, key: str, value: Any, *, where: str = "option") -> Config:
    """Replace the option called ``table.option``."""
    table, _, option = key.partition(".")
    if key not in options():
        raise ConfigError(f"{where}: unknown option {key!r}{_close(key, options())}")
    return merge(config, {table: {option: value}}, where=where)


def options() -> list[str]:
    """All options as ``table.option``, in the order of the file."""
    return [f"{table}.{name}" for table, cls in _sections().items() for name in get_type_hints(cls)]


def differences(old: Config, new: Config) -> dict[str, tuple[Any, Any]]:
    """Options whose values differ: ``table.option`` → (old, new)."""
    pairs = {key: (_get(old, key), _get(new, key)) for key in options()}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _get(config: Config, key: str) -> Any:
    table, option = key.split(".")
    return getattr(getattr(config, table), option)


def _sections() -> dict[str, type]:
    return dict(get_type_hints(Config))


def _merge_section(section: T, table: str, values: Mapping[str, Any], where: str) -> T:
    hints = get_type_hints(type(section))
    changes = {}
    for name, value in values.items():
        key = f"{table}.{name}"
        if name not in hints:
            raise ConfigError(f"{where}: unknown option {key!r}{_close(key, options())}")
        changes[name] = _checked(value, hints[name], f"{where}: {key}")
    return dataclasses.replace(section, **changes)  # type: ignore[type-var]


def _checked(value: Any, hint: Any, where: str) -> Any:
    """``value`` as ``hint`` wants it, or a ConfigError that says what it wants."""
    for choice in _choices(hint):
        matched, result = _match(value, choice)
        if matched:
            return result
    wanted = " or ".join(dict.fromkeys(_describe(choice) for choice in _choices(hint)))
    raise ConfigError(f"{where}: expected {wanted}, got {_shown(value)}")


def _choices(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [choice for part in get_args(hint) for choice in _choices(part)]
    return [hint]


def _match(value: Any, hint: Any) -> tuple[bool, Any]:
    if get_origin(hint) is Literal:
        same = [x for x in get_args(hint) if x == value and type(x) is type(value)]
        return bool(same), value
    if get_origin(hint) is tuple:
        return _match_tuple(value, get_args(hint))
    if hint is float and type(value) is int:
        return True, float(value)
    return type(value) is hint, value


def _match_tuple(value: Any, hints: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, list | tuple):
        return False, value
    if hints[-1] is Ellipsis:
        hints = hints[:1] * len(value)
    if len(value) != len(hints):
        return False, value
    matches = [_match(x, hint) for x, hint in zip(value, hints, strict=True)]
    return all(ok for ok, _ in matches), tuple(x for _, x in matches)


def _describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(json.dumps(x) for x in get_args(hint))
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        return "a list of strings" if parts[-1] is Ellipsis else f"a list of {len(parts)} numbers"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
    return names[hint]


def _value(text: str) -> Any:
    """A TOML value, or the text itself where it is none (``mixup``, ``/data/run``)."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(x) for x in value) + "]"
    if isinstance(value, str):
        # JSON escapes what TOML's basic strings do, but for the delete character.
        return json.dumps(readable(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _close(name: str, known: Iterable[str]) -> str:
    """Close by what follows the table, in letters or in whole words; else by all letters."""
    table, _, option = name.rpartition(".")
    scores = {}
    for key in known:
        other_table, _, other = key.rpartition(".")
        likeness = difflib.SequenceMatcher(None, option, other).ratio()
        if set(option.split("_")) <= set(other.split("_")):
            likeness = max(likeness, 0.8)
        if likeness >= 0.6:
            scores[key] = likeness + 0.1 * (table == other_table)
    near = sorted(scores, key=lambda key: -scores[key])[:4]
    near = near or difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"; did you mean {', '.join(near)}?" if near else ""


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
