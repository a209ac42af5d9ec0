"""What the commands share: options, how a SOURCE is read, and how results leave on stdout."""

from __future__ import annotations

import json
import logging
import shlex
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dglkgmix.cli.options import flags
from dglkgmix.cli.outputs import IN_FILE
from dglkgmix.config.classes import trusting
from dglkgmix.config.settings import READING
from dglkgmix.config.tables import SPLITTING
from dglkgmix.paths import readable

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.runs.run import Run

T = TypeVar("T")
# Embeddings, overrides and isolates, which can show a text in another order than it has.
BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

# Reading options by name, None for what was not given.
source_options = flags(READING.values())
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON on stdout."
)
quiet_option = click.option("--quiet", is_flag=True, help="No progress on standard error.")
bins_option = click.option(
    "--bins", default="1,10,50", metavar="A,B,…", help="Edges of the degree bins."
)


class DownloadBar:
    """Called with a file's name, the bytes so far and in all (None where unknown).

    On a terminal it draws a bar for each file, elsewhere it says once what is being fetched.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._bar: Any = None

    def __call__(self, name: str, done: int, total: int | None) -> None:
        """Shows how far the file has come."""
        if name != self._name:
            self._begin(name, total)
        if self._bar is not None:
            self._bar.update(done - self._bar.n)
            if done == total:
                self._bar.close()

    def _begin(self, name: str, total: int | None) -> None:
        if self._bar is not None:
            self._bar.close()
        self._name = name
        if not sys.stderr.isatty():
            click.echo(f"Fetching {name}", err=True)
            return
        from tqdm import tqdm

        self._bar = tqdm(desc=name, total=total, unit="B", unit_scale=True, file=sys.stderr)


def load_source(source: str | Path, **reading: Any) -> KnowledgeGraph:
    """The graph of a command's SOURCE; options of ``[data]`` by flag or name, None if not given."""
    from dglkgmix.kg.options import ReadOptions
    from dglkgmix.kg.sources import load

    names = {flag: made.name for flag, made in READING.items()}
    given = {names.get(key, key): value for key, value in reading.items() if value is not None}
    split = {name: given.pop(name) for name in SPLITTING if name in given}
    return load(source, options=ReadOptions(**given), progress=DownloadBar(), **split)


def _compute(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> None:
    if value:
        from dglkgmix.evaluation.metrics import further, metric_named

        metrics = [metric_named(path) for path in value]
        for path, metric in zip(value, metrics, strict=True):
            if context.info_name == "compare" and not metric.tested:
                warn(f"{path} is left out: compare tests metrics with tested=True alone")
        context.with_resource(further(metrics))


# Both hold while the command runs, and give it no argument.
trust_option = click.option(
    "--trust",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda context, _, value: context.with_resource(trusting(value)),
    help="Import the classes outside of dglkgmix that a run names.",
)
metric_option = click.option(
    "--metric",
    multiple=True,
    expose_value=False,
    callback=_compute,
    metavar="MODULE:NAME",
    help="Compute this metric of your own, too.",
)


def candidate_options(command: Callable[..., T]) -> Callable[..., T]:
    """Adds ``--candidates`` and ``--types``."""
    rules = click.option(
        "--candidates",
        type=click.Choice(["all", "node-types", "observed", "typed"]),
        help="Which entities may answer. all: every one, the default; node-types: those of a type "
        "that training answers of the relation have, the default of a typed graph; observed: "
        "training answers of the relation alone, so none of tail-relation degree 0; typed: those "
        "that occur with the relation's answers in every relation and direction they occur in.",
        show_default=False,
    )
    types = click.option(
        "--types",
        type=IN_FILE,
        metavar="FILE",
        help="In place of --candidates: a .csv, .tsv or .txt file with the columns entity and "
        "type, a row for each type of an entity. Entities that share a type with a training answer "
        "of the relation may answer.",
    )
    return rules(types(command))


def open_run(path: Path, candidates: str | None = None, types: Path | None = None) -> Run:
    """The run in a folder, with what ``candidate_options`` gave; warns of one not finished."""
    from dglkgmix.runs.run import Run

    run = Run.open(path)
    if not run.finished:
        warn(run.warning)
    return run if candidates is None and types is None else run.among(candidates, types)


@contextmanager
def resumed_by_the_same_command() -> Iterator[None]:
    """An interrupt is told, and ends the process with status 130."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("Interrupted. Progress saved. The same command resumes.", err=True)
        sys.exit(130)


def warn(text: str) -> None:
    """Says a warning on standard error."""
    click.echo(f"Warning: {printable(text)}", err=True)


class LibraryWarnings(logging.Handler):
    """Says what the library logs as the command line says its own warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        """One of them."""
        warn(record.getMessage())


def warn_of_splits(kg: KnowledgeGraph) -> None:
    """Says on stderr what makes figures on valid and test too good, or empty."""
    from dglkgmix.kg.statistics import split_warnings

    for warning in split_warnings(kg):
        warn(warning)


def warn_of_alike(kg: KnowledgeGraph, source: str) -> None:
    """Says on stderr how many names differ in case, outer white space or Unicode form alone."""
    counts = {
        kind: sum(map(len, names.alike()))
        for kind, names in (("entities", kg.entities), ("relations", kg.relations))
    }
    if any(counts.values()):
        named = " and ".join(f"{count:,} {kind}" for kind, count in counts.items() if count)
        warn(
            f"{named} are alike but for case, space or Unicode form: "
            f"`dglkgmix data info {shlex.quote(source)}` shows which"
        )


def emit_json(value: object) -> None:
    """Prints JSON: floats unrounded, NaN and infinities as null."""
    from dglkgmix.plain import plain_values

    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    ascii_only = encoding != "utf8"
    click.echo(json.dumps(plain_values(value), indent=2, ensure_ascii=ascii_only, allow_nan=False))


def printable(text: str) -> str:
    r"""The text with control characters shown as escapes, so no name can steer a terminal.

    Line ends stay, and so do all letters of all scripts with the joiners that some of them need.
    """
    return "".join(map(_shown, readable(text)))


def one_line(name: str) -> str:
    """The name as :func:`printable` shows it, its line ends as escapes, too."""
    return printable(name).replace("\n", "\\n")


def _shown(character: str) -> str:
    control = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") and character != "\n"
    if control or character in BIDIRECTIONAL:
        return character.encode("unicode_escape").decode()
    return character
