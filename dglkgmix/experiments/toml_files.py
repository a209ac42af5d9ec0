"""TOML in for recipes, experiments and search spaces: where it went wrong, and near misses."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Mapping
from typing import Any

from dglkgmix.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


def parse(text: str, where: str) -> dict[str, Any]:
    """The tables of ``text``.

    Raises:
        ConfigError: text that is no TOML; the message starts with ``where``.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: not a TOML file: {error}") from None


def refuse_unknown(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raise ConfigError at the first key of ``table`` that is not ``known``, with close matches."""
    for key in table:
        if key not in known:
            raise ConfigError(f"{where}: unknown key {key!r}{close(key, known)}")


def close(name: str, known: Collection[str]) -> str:
    """``; did you mean …?`` with what is spelt like ``name``, else the whole of a short list."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    if near:
        return f"; did you mean {', '.join(near)}?"
    return f"; known: {', '.join(sorted(known))}" if len(known) <= 12 else ""


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
