"""Configuration files: TOML in and out, overrides, and every unknown or mistyped key refused."""

from __future__ import annotations

import dataclasses
import difflib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dglkgmix.config.classes import admit, options_of
from dglkgmix.config.option import declared, shown
from dglkgmix.config.settings import OPTIONS, SECTIONS, Config, options
from dglkgmix.errors import ConfigError
from dglkgmix.paths import read_utf8, readable

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

T = TypeVar("T")


def loads(
    text: str,
    base: Config | None = None,
    *,
    where: str = "configuration",
    trust: bool = True,
) -> Config:
    """Read TOML on top of ``base`` (the defaults where left out); ``trust`` as for :func:`merge`.

    Raises:
        ConfigError: text that is no TOML, an unknown key (with close matches) or a value of
            another type; the message starts with ``where``.
    """
    return merge(base or Config(), parse(text, where), where=where, trust=trust)


def parse(text: str, where: str) -> dict[str, Any]:
    """The tables of ``text``.

    Raises:
        ConfigError: text that is no TOML; the message starts with ``where``.
    """
    try:
        found: dict[str, Any] = tomllib.loads(text)
        return found
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not a TOML file: {error}") from None


def load(path: str | Path, base: Config | None = None) -> Config:
    """Read a configuration file; see :func:`loads`."""
    return loads(read_utf8(path), base, where=str(path))


def dumps(config: Config, base: Config | None = None, *, settled: Config | None = None) -> str:
    """Write ``config`` as TOML that :func:`loads` reads back to an equal value.

    With ``base``, on top of which it is read then, only what differs from it. With ``settled``, a
    comment behind each value that is another there.
    """
    became = {} if settled is None else differences(config, settled)
    kept = None if base is None else differences(base, config)
    tables: dict[str, list[str]] = {table: [] for table in SECTIONS}
    for option, value in config.items():
        if kept is None or option.key in kept:
            remark = f"  # {toml_value(became[option.key][1])}" if option.key in became else ""
            line = f"{option.name} = {toml_value(value)}{remark}"
            tables[option.key.partition(".")[0]].append(line)
    shown = {table: lines for table, lines in tables.items() if lines or kept is None}
    return "\n\n".join("\n".join([f"[{t}]", *lines]) for t, lines in shown.items()) + "\n"


def merge(
    config: Config, tables: Mapping[str, Any], *, where: str = "configuration", trust: bool = True
) -> Config:
    """Replace what ``tables`` (table → option → value) names; the rest stays.

    Args:
        config: what is changed.
        tables: the values.
        where: begins every message; "" begins none.
        trust: whether a class of the user's that ``tables`` names may be imported.

    Raises:
        ConfigError: an unknown table or option, or a value of another type.
    """
    sections, at = {}, f"{where}: " if where else ""
    for name, values in tables.items():
        if name not in SECTIONS:
            raise ConfigError(f"{at}unknown table [{name}]{close(name, SECTIONS)}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{at}{name} is a table, not {shown(values)}")
        sections[name] = _merge_section(getattr(config, name), name, values, at, trust)
    return dataclasses.replace(config, **sections)


def apply_overrides(config: Config, overrides: Iterable[str]) -> Config:
    """Apply ``table.option=value`` strings; values are TOML, or bare words.

    ``apply_overrides(config, ["training.lr=1e-3", "strategy.name=mixup"])``
    """
    for override in overrides:
        key, found, text = override.partition("=")
        if not found:
            raise ConfigError(f"--set {override}: expected table.option=value")
        config = set_option(config, key.strip(), _value(text.strip()), where="--set")
    return config


def set_option(config: Config, key: str, value: Any, *, where: str = "") -> Config:
    """Replace the option called ``table.option``; ``where`` as for :func:`merge`."""
    table, _, option = key.partition(".")
    if table not in SECTIONS or not option:
        known = options(config)
        at = f"{where}: " if where else ""
        raise ConfigError(f"{at}unknown option {key!r}{close(key, known)}")
    return merge(config, {table: {option: value}}, where=where)


def differences(old: Config, new: Config) -> dict[str, tuple[Any, Any]]:
    """Options whose values differ: ``table.option`` → (old, new); None where one has none."""
    before, after = dict(_values(old)), dict(_values(new))
    pairs = {key: (before.get(key), after.get(key)) for key in before | after}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _values(config: Config) -> Iterator[tuple[str, Any]]:
    return ((made.key, value) for made, value in config.items())


def _merge_section(section: T, table: str, values: Mapping[str, Any], at: str, trust: bool) -> T:
    known = dict(declared(type(section), table))
    changes: dict[str, Any] = {}
    for made in list(known.values()):
        if made.classes:
            value = values.get(made.name, getattr(section, made.name))
            if not isinstance(value, str | type):
                raise ConfigError(f"{at}{made.key}: expected a name or a class, got {shown(value)}")
            changes[made.name] = admit(made.classes, value, trust=trust, where=f"{at}{made.key}")
            known |= options_of(made.classes, changes[made.name])
    for name, value in values.items():
        key = f"{table}.{name}"
        if name not in known:
            every = [*OPTIONS, *(made.key for made in known.values() if made.key not in OPTIONS)]
            raise ConfigError(f"{at}unknown option {key!r}{close(key, every)}")
        if name not in changes:
            changes[name] = known[name].checked(value, f"{at}{key}")
    if hasattr(section, "own"):
        own = dict(section.own) | changes
        fields = declared(type(section), table)
        changes = {name: value for name, value in changes.items() if name in fields}
        changes["own"] = {n: v for n, v in own.items() if n in known and n not in fields}
    return dataclasses.replace(section, **changes)  # type: ignore[type-var]


def _value(text: str) -> Any:
    """A TOML value, or the text itself where it is none (``mixup``, ``/data/run``)."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def toml_value(value: Any) -> str:
    """``value`` as TOML writes it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(x) for x in value) + "]"
    if isinstance(value, str):
        # JSON escapes what TOML's basic strings do, but for the delete character.
        return json.dumps(readable(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def close(name: str, known: Collection[str]) -> str:
    """``; did you mean …?`` with what is close to ``name``, else the whole of a short list.

    Close by what follows the table, in letters or in whole words; else by all letters.
    """
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
    if near:
        return f"; did you mean {', '.join(near)}?"
    return f"; known: {', '.join(sorted(known))}" if len(known) <= 12 else ""


def refuse_unknown(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raise ConfigError at the first key of ``table`` that is not ``known``, with close matches."""
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{close(key, known)}")


def typed(table: Mapping[str, Any], key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """``table[key]``, which must be of ``kind``; true and false are no numbers."""
    value = table[key]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds):
        return value
    names = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    names |= {list: "a list", dict: "a table"}
    wanted = " or ".join(names[k] for k in kinds)
    raise ConfigError(f"{where}: {key} must be {wanted}, not {value!r}")
