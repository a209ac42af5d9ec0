"""What the commands share: how a SOURCE is read, and how results leave on stdout."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dglkgmix.paths import readable

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.run import Run

T = TypeVar("T")
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "space": " "}
# Embeddings, overrides and isolates, which can show a text in another order than it has.
BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
FORMATS = ["tsv", "csv", "parquet", "ntriples", "turtle"]
# What `source_options` add.
READING = (
    *("columns", "header", "delimiter", "format", "strip", "normalize"),
    *("shares", "split_seed", "split_mirrors"),
)


def source_options(command: Callable[..., T]) -> Callable[..., T]:
    """Adds the reading options; the command gets them by name, None for what was not given."""
    for option in reversed(_SOURCE_OPTIONS):
        command = option(command)
    return command


def load_source(source: str | Path, **reading: Any) -> KnowledgeGraph:
    """The graph of a catalog name, a folder or a file, read as ``source_options`` say.

    Args:
        source: the command's SOURCE.
        **reading: those of ``READING``; None leaves the library's default in force.
    """
    from dglkgmix.cli.download_bar import DownloadBar
    from dglkgmix.kg.readers import ReadOptions
    from dglkgmix.kg.sources import load

    given = {name: value for name, value in reading.items() if value is not None}
    names = {"shares": "split", "split_seed": "split_seed", "split_mirrors": "split_mirrors"}
    split = {name: given.pop(option) for option, name in names.items() if option in given}
    return load(source, options=ReadOptions(**given), progress=DownloadBar(), **split)


def open_run(path: Path) -> Run:
    """The run in a folder; a line on standard error tells of one that has not finished."""
    from dglkgmix.run import Run

    run = Run.open(path)
    if not run.finished:
        click.echo(f"Warning: {printable(run.warning)}", err=True)
    return run


def warn_of_mirrors(kg: KnowledgeGraph) -> None:
    """Says on stderr how many triples of valid and test have their mirror in train, if any."""
    from dglkgmix.kg.mirrors import mirror_warnings

    for warning in mirror_warnings(kg):
        click.echo(f"Warning: {printable(warning)}", err=True)


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

    Line ends stay, and so do all letters of all scripts with the joiners that some of them need.
    """
    text = readable(text)
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character != "\n"
    if control or character in BIDIRECTIONAL:
        return character.encode("unicode_escape").decode()
    return character


def _parse_columns(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    if value is None:
        return None
    columns = tuple(column.strip() for column in value.split(","))
    if len(columns) < 3 or "" in columns:
        raise click.BadParameter(f"{value!r} is not at least three names with commas between them")
    return columns


def _parse_shares(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        shares = tuple(float(share) for share in value.split(","))
    except ValueError:
        shares = ()
    if len(shares) != 3 or min(shares) < 0 or not math.isclose(sum(shares), 1, abs_tol=1e-6):
        raise click.BadParameter(f"{value!r} is not three shares that add up to 1")
    return shares


def _parse_delimiter(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    if value is None:
        return None
    delimiter = DELIMITERS.get(value, value)
    if len(delimiter) != 1:
        raise click.BadParameter(f"{value!r} is neither one character nor tab, comma or space")
    return delimiter


_SOURCE_OPTIONS = [
    click.option(
        "--columns",
        callback=_parse_columns,
        metavar="A,B,C",
        help="What the columns hold, in order (_ to ignore one); where they have names, the names "
        "of head, relation and tail. [default: head,relation,tail]",
    ),
    click.option(
        "--header", is_flag=True, default=None, help="The first row holds the columns' names."
    ),
    click.option(
        "--delimiter",
        callback=_parse_delimiter,
        metavar="CHAR",
        help="What separates fields: a character, tab, comma or space. [default: by file name]",
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="How the file is written. [default: by file name]",
    ),
    click.option(
        "--strip", is_flag=True, default=None, help="Remove white space around every name."
    ),
    click.option(
        "--normalize",
        type=click.Choice(["nfc", "nfkc"]),
        help="Bring names to a Unicode form, so that é is one name however it is composed. "
        "[default: names to the letter]",
    ),
    click.option(
        "--shares",
        callback=_parse_shares,
        metavar="A,B,C",
        help="Shares of train, valid and test of one file. [default: 0.8,0.1,0.1]",
    ),
    click.option(
        "--split-seed", type=int, help="Seed of that split, never the training's. [default: 0]"
    ),
    click.option(
        "--split-mirrors",
        type=click.Choice(["together", "apart"]),
        help="Whether (h, r, t) and (t, r, h) come into one split. [default: together]",
    ),
]
