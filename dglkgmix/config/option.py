"""What is declared of an option: type, default, range, flag, help and who reads it."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dglkgmix.errors import ConfigError

# Words that stand for a value until a configuration is settled.
OPEN = ("auto", "same")


@dataclass(frozen=True)
class Bounds:
    """The range of an option, as a check and in words ("must be above 0")."""

    holds: Callable[[Any], bool]
    words: str


ABOVE_0 = Bounds(lambda x: x > 0, "must be above 0")
AT_LEAST_0 = Bounds(lambda x: x >= 0, "must be 0 or more")
AT_LEAST_1 = Bounds(lambda x: x >= 1, "must be 1 or more")
SHARE = Bounds(lambda x: 0 <= x <= 1, "must lie in [0, 1]")
BELOW_1 = Bounds(lambda x: 0 <= x < 1, "must lie in [0, 1)")


@dataclass(frozen=True)
class Option:
    """One option of a training.

    Attributes:
        default: its value where nothing is given.
        help: one line, for ``--help``, the page of options and error messages.
        flag: its name on the command line and in ``KGCompleter``; empty: only ``--set`` has it.
        auto: what "auto" becomes, in a few words.
        bounds: its range, or None.
        of: "decoder", "encoder" or "strategy", where the chosen class decides whether it is read.
        unread: why a configuration does not read it, or None; given the configuration and
            ``key``.
        classes: "decoder", "encoder" or "strategy", where the value names a class.
        key: ``table.name``.
        types: the types that a value may have.
        words: "auto" and "same" where they are allowed.
    """

    default: Any
    help: str
    flag: str = ""
    auto: str = ""
    bounds: Bounds | None = None
    of: str = ""
    unread: Callable[[Any, str], str | None] | None = None
    classes: str = ""
    key: str = ""
    types: tuple[Any, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The part after the table."""
        return self.key.rpartition(".")[2]

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values of a closed list; empty where there is none."""
        return tuple(x for t in self.types if get_origin(t) is Literal for x in get_args(t))

    def checked(self, value: Any, where: str) -> Any:
        """The value, a whole number as a float where one is meant.

        Raises:
            ConfigError: a value of another type; says what is expected, after ``where``.
        """
        if isinstance(value, str) and value in self.words:
            return value
        for kind in self.types:
            matched, result = _match(value, kind)
            if matched:
                return result
        kinds = [*map(_describe, self.types), *map(json.dumps, self.words)]
        wanted = " or ".join(dict.fromkeys(kinds))
        raise ConfigError(f"{where}: expected {wanted}, got {shown(value)} ({self.help})")


def option(default: Any, text: str, **declared: Any) -> Any:
    """Declares one option of a class; the class annotates it with its type.

    ``alpha: float = option(1.0, "Mix with λ ~ Beta(α, α).", bounds=ABOVE_0)``

    Args:
        default: of the annotated type, "auto" or "same".
        text: what it is, one line.
        **declared: any other field of :class:`Option` but ``key`` and ``types``.

    Raises:
        ConfigError: bounds that are none.
    """
    if "words" not in declared:
        declared["words"] = (default,) if default in OPEN else ()
    bounds = declared.get("bounds")
    if bounds is not None and not isinstance(bounds, Bounds):
        raise ConfigError(
            f"bounds of the option {text!r} must be a Bounds, as in "
            f'Bounds(lambda x: 0 <= x <= 10, "must lie in [0, 10]"), not {bounds!r}'
        )
    made = Option(default, text, **declared)
    return dataclasses.field(default=default, metadata={"option": made})


def _declared(section: type, table: str) -> dict[str, Option]:
    """The options of a class whose fields were made by :func:`option`, by name, in its order.

    The class may be a dataclass, or a plain class such as the ``Options`` of a decoder.
    """
    hints = get_type_hints(section)
    found = {}
    for name, hint in hints.items():
        fields = getattr(section, "__dataclass_fields__", None)
        field = getattr(section, name, None) if fields is None else fields.get(name)
        made = getattr(field, "metadata", {}).get("option")
        if made is not None:
            kinds = tuple(t for t in _parts(hint) if not isinstance(t, TypeVar))
            found[name] = replace(made, key=f"{table}.{name}", types=kinds)
    return found


declared: Callable[[type, str], dict[str, Option]] = cache(_declared)


def _parts(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [part for each in get_args(hint) for part in _parts(each)]
    return [hint]


def _match(value: Any, hint: Any) -> tuple[bool, Any]:
    if get_origin(hint) is Literal:
        same = [x for x in get_args(hint) if x == value and type(x) is type(value)]
        return bool(same), value
    if get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            return False, value
        kinds = get_args(hint)
        if kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(value)
        matches = [_match(x, kind) for x, kind in zip(value, kinds, strict=False)]
        fits = len(value) == len(kinds) and all(ok for ok, _ in matches)
        return fits, tuple(x for _, x in matches)
    if hint is float and type(value) is int:
        return True, float(value)
    return type(value) is hint, value


def _describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(json.dumps(x) for x in get_args(hint))
    if get_origin(hint) is tuple:
        parts = get_args(hint)
        return "a list of strings" if parts[-1] is Ellipsis else f"a list of {len(parts)} numbers"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
    return names[hint]


def shown(value: Any) -> str:
    """A value as messages quote it; one that TOML cannot write, with its type."""
    kind = type(value)
    if kind.__module__ != "builtins":
        text = f"{kind.__module__}.{kind.__qualname__} {value}"
    else:
        try:
            text = json.dumps(value, default=str)
        except (TypeError, ValueError):
            text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
