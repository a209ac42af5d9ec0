"""The options of ``[data]`` to ``[runtime]`` that have a flag, as options of a command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from dglkgmix.cli.outputs import NonEmpty
from dglkgmix.config.classes import NAMES
from dglkgmix.config.option import Option

T = TypeVar("T")
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " "}
FORMATS = ["tsv", "csv", "parquet", "ntriples", "turtle"]


class ClassName(click.ParamType[str]):
    """One of the package's names, or ``module:Class``."""

    def __init__(self, kind: str) -> None:
        self.name = kind

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The names."""
        return f"[{'|'.join(NAMES[self.name])}|MODULE:CLASS]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value itself; imported when the command has read everything."""
        if ":" not in value and value not in NAMES[self.name]:
            names = ", ".join(map(repr, NAMES[self.name]))
            self.fail(f"{value!r} is not one of {names}, nor module:Class.", param, ctx)
        return value


def flags(options: Iterable[Option]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Adds the flags of ``options``; the command gets them by name, None for what is not given."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        for option in reversed(list(options)):
            command = _flag(option)(command)
        return command

    return decorate


def _flag(option: Option) -> Any:
    flag = f"--{option.flag.replace('_', '-')}"
    text = f"{option.help}{_default(option)}"
    if option.key in _PARSED:
        metavar, parse = _PARSED[option.key]
        return click.option(flag, type=parse, metavar=metavar, help=text)
    if option.types == (bool,):
        both = flag if option.default is False else f"{flag}/--no-{flag[2:]}"
        return click.option(both, is_flag=True, default=None, help=text)
    if option.key == "pretrain.run":
        return click.option(flag, type=NonEmpty(), metavar="RUN", help=text)
    return click.option(flag, type=_type(option), help=text)


def _type(option: Option) -> Any:
    if option.classes:
        return ClassName(option.classes)
    if option.key == "data.format":
        return click.Choice(FORMATS)
    first = option.types[0]
    if first in (int, float, str):
        return first
    return click.Choice([str(x) for x in option.choices if x != "none"])


def _default(option: Option) -> str:
    """``[default: 5]``, or what "auto" means; nothing where the default is to have none."""
    shown = option.auto or option.default
    if shown is False or shown in ("", "none", ()):
        return ""
    if isinstance(shown, tuple):
        shown = ",".join(map(str, shown))
    return f" [default: {shown:g}]" if isinstance(shown, float) else f" [default: {shown}]"


def _columns(value: str) -> tuple[str, ...]:
    columns = tuple(column.strip() for column in value.split(","))
    if len(columns) < 3 or "" in columns:
        raise click.BadParameter(f"{value!r} is not at least three names with commas between them")
    return columns


def _shares(value: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(share) for share in value.split(","))
    except ValueError:
        shares = ()
    if len(shares) != 3 or min(shares) < 0 or not math.isclose(sum(shares), 1, abs_tol=1e-6):
        raise click.BadParameter(f"{value!r} is not three shares that add up to 1")
    return shares


def _delimiter(value: str) -> str:
    delimiter = DELIMITERS.get(value, value)
    if len(delimiter) != 1:
        raise click.BadParameter(f"{value!r} is neither one character nor tab, comma or space")
    return delimiter


_PARSED: dict[str, tuple[str, Callable[[str], Any]]] = {
    "data.columns": ("A,B,C", _columns),
    "data.split": ("A,B,C", _shares),
    "data.delimiter": ("CHAR", _delimiter),
}
