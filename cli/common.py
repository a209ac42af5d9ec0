"""What the commands share: how a SOURCE is read, and how results leave on stdout."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

P = ParamSpec("P")
T = TypeVar("T")
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " "}
FORMATS = ["auto", "tsv", "csv", "parquet", "ntriples", "turtle"]


@dataclass(frozen=True)
class Reading:
    """The reading options of a command, as ``[data]`` of a configuration names them."""

    columns: tuple[str, str, str] = ("head", "relation", "tail")
    header: bool = False
    delimiter: str = "auto"
    format: str = "auto"
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    split_seed: int = 0
    # Names of the options that the user gave, as opposed to those left at their defaults.
    given: frozenset[str] = frozenset()

    def load(self, source: str | Path) -> KnowledgeGraph:
        """The graph of a catalog name, a folder or a file."""
        from dglkgmix.kg.readers import ReadOptions
        from dglkgmix.kg.sources import load

        options = ReadOptions(
            columns=self.columns,
            header=self.header,
            delimiter=self.delimiter,
            format=self.format,
        )
        return load(source, options=options, split=self.split, split_seed=self.split_seed)


def source_options(command: Callable[..., T]) -> Callable[..., T]:
    """Adds the reading options; the command gets them as one argument, ``reading``."""

    @wraps(command)
    def collected(*args: Any, **options: Any) -> T:
        chosen = {name: options.pop(name) for name in _SOURCE_OPTIONS}
        return command(*args, reading=Reading(**chosen, given=_given()), **options)

    for option in reversed(_SOURCE_OPTIONS.values()):
        collected = option(collected)
    return collected


def json_option(command: Callable[..., T]) -> Callable[..., T]:
    """Adds ``--json``; the command gets it as ``as_json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print the result as JSON on stdout."
    )(command)


def emit_json(value: object) -> None:
    """Prints JSON: floats unrounded, NaN and infinities as null."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    text = json.dumps(
        plain_values(value), indent=2, ensure_ascii=encoding != "utf8", allow_nan=False
    )
    click.echo(text)


def plain_values(value: Any) -> Any:
    """The value with containers, arrays and scalars of libraries turned into JSON's own types."""
    if isinstance(value, bool | str | int | None):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # arrays, tensors and their scalars
        return plain_values(value.tolist())
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def printable(text: str) -> str:
    r"""The text with control characters shown as escapes, so no name can steer a terminal.

    Line ends stay; so do all letters of all scripts. Bidirectional overrides are escaped too.
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    steers = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return (
        character.encode("unicode_escape").decode() if steers and character != "\n" else character
    )


def _given() -> frozenset[str]:
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return frozenset(n for n in _SOURCE_OPTIONS if context.get_parameter_source(n) != default)


def _parse_columns(
    context: click.Context, parameter: click.Parameter, value: str
) -> tuple[str, ...]:
    columns = tuple(column.strip() for column in value.split(","))
    if len(columns) != 3 or "" in columns:
        raise click.BadParameter(f"{value!r} is not three names with commas between them")
    return columns


def _parse_split(
    context: click.Context, parameter: click.Parameter, value: str
) -> tuple[float, ...]:
    try:
        shares = tuple(float(share) for share in value.split(","))
    except ValueError:
        shares = ()
    if len(shares) != 3 or min(shares) < 0 or not math.isclose(sum(shares), 1, abs_tol=1e-6):
        raise click.BadParameter(f"{value!r} is not three shares that add up to 1")
    return shares


def _parse_delimiter(context: click.Context, parameter: click.Parameter, value: str) -> str:
    delimiter = DELIMITERS.get(value, value)
    if delimiter != "auto" and len(delimiter) != 1:
        raise click.BadParameter(f"{value!r} is neither one character nor tab, comma or space")
    return delimiter


_SOURCE_OPTIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "columns": click.option(
        "--columns",
        default="head,relation,tail",
        show_default=True,
        callback=_parse_columns,
        help="Order of the columns; with --header, or in Parquet, their names.",
    ),
    "header": click.option("--header", is_flag=True, help="The first row names the columns."),
    "delimiter": click.option(
        "--delimiter",
        default="auto",
        show_default=True,
        callback=_parse_delimiter,
        help="What separates fields: one character, or tab, comma, space; auto asks the file name.",
    ),
    "format": click.option(
        "--format",
        type=click.Choice(FORMATS),
        default="auto",
        show_default=True,
        help="How the file is written; auto asks the file name.",
    ),
    "split": click.option(
        "--split",
        default="0.8,0.1,0.1",
        show_default=True,
        callback=_parse_split,
        help="Shares of train, valid and test where SOURCE is one file.",
    ),
    "split_seed": click.option(
        "--split-seed",
        type=int,
        default=0,
        show_default=True,
        help="Seed of that split (never the training's).",
    ),
}
