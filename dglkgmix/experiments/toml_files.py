"""TOML in for recipes, experiments and search spaces: where it went wrong, and near misses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dglkgmix.config.toml import close
from dglkgmix.errors import ConfigError


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
