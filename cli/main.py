"""``dglkgmix``: the group of commands, and what every error becomes."""

from __future__ import annotations

import difflib
import gc
import importlib
import io
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from dglkgmix.cli.common import LibraryWarnings, printable
from dglkgmix.cli.threads import wait_asleep
from dglkgmix.errors import DglkgmixError, OutputError
from dglkgmix.version import __version__

# In the order of the work, each in the module of its name. Modules are imported when their command
# is asked for, or for the list of commands; none imports the library before it runs.
COMMANDS = (
    *("demo", "data", "degrees", "recipes", "train", "evaluate", "compare", "report", "predict"),
    *("detect-errors", "neighbours", "export", "experiment", "tune"),
)
INTERRUPTED = 130
_WARNINGS = LibraryWarnings(logging.WARNING)
DEBUG_HINT = "run it again as `dglkgmix --debug ...` to see where"


class WholeSentences(click.Group):
    """A group that lists its commands with the whole first sentence of each one's help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All names with the whole first sentence of each command's help."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, found.get_short_help_str(limit=200)) for name, found in commands if found]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class LazyGroup(WholeSentences):
    """A group whose commands are imported on demand; a mistyped one is told its neighbours."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the command, or None where there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"dglkgmix.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with close matches in the error."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
    epilog="Example: dglkgmix degrees world --threshold 5",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(__version__, message="dglkgmix %(version)s")
@click.pass_context
def cli(context: click.Context, debug: bool) -> None:
    """Knowledge graph completion that knows about degree bias."""
    context.ensure_object(dict)["debug"] = debug
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def main(args: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status and lets no exception through.

    0 done; 2 bad usage, data or options; 1 anything that failed on the way; 130 interrupted.
    """
    given = [_as_utf8(argument) for argument in sys.argv[1:]] if args is None else args
    settings: dict[str, Any] = {"arguments": given}
    from dglkgmix.allocator import keep_freed_memory

    _replace_closed_streams()
    _replace_failing_streams()
    logging.getLogger("dglkgmix").addHandler(_WARNINGS)  # Once: the same one is not added again.
    keep_freed_memory()
    gc.set_threshold(20_000)  # A tenth less for the import of PyTorch, which makes few cycles.
    wait_asleep()
    try:
        status = cli.main(given, "dglkgmix", standalone_mode=False, obj=settings)
        sys.stdout.flush()
    except BaseException as error:
        if settings.get("debug") and not isinstance(error, click.ClickException | SystemExit):
            trace = "".join(traceback.format_exception(error))
            click.echo(_shown(trace), err=True, nl=False)
        status = _report(error)
        if status == INTERRUPTED and args is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # A second Ctrl-C meets Python's own end.
        return status
    return status if isinstance(status, int) else 0


def _as_utf8(argument: str) -> str:
    """An argument as UTF-8 whatever the locale; one that is not stays as Python reads it."""
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeDecodeError:
        return argument


def _replace_closed_streams() -> None:
    """A stream that the caller closed, as in `2>&-`, is read from or written to nowhere.

    Its number is taken, too, before the next file that is opened would get it. Child processes
    inherit it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))


class _Out(io.FileIO):
    """Standard output; that it cannot be written is an error of its own, but for a closed pipe."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"standard output cannot be written: {error.strerror}") from None


class _Err(io.FileIO):
    """Standard error; the work and its status do not depend on whether it can be written."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _replace_failing_streams() -> None:
    """Names in any script are printed in any locale, too, as escapes if need be."""
    for name, number, kind in (("stdout", 1, _Out), ("stderr", 2, _Err)):
        stream = getattr(sys, name)
        if stream is getattr(sys, f"__{name}__"):  # not one of a caller's own, as in a test
            raw = kind(number, "w", closefd=False)
            stream = io.TextIOWrapper(
                raw if stream.write_through else io.BufferedWriter(raw),
                stream.encoding,
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            setattr(sys, name, stream)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _report(error: BaseException) -> int:
    """Says what went wrong on stderr, in a line, and gives the exit status."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, click.ClickException):
        text = io.StringIO()
        error.show(text)
        click.echo(_shown(text.getvalue()), err=True, nl=False)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    if isinstance(error, BrokenPipeError | OutputError):
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123 - for what is still buffered
            os.dup2(nowhere.fileno(), 1)
    if isinstance(error, BrokenPipeError):
        return 1
    click.echo(f"Error: {_shown(_describe(error))}", err=True)
    return error.exit_status if isinstance(error, DglkgmixError) else 1


def _shown(message: str) -> str:
    """Nothing in it steers the terminal, and no password can be read."""
    from dglkgmix.passwords import hide_passwords

    return printable(hide_passwords(message))


def _describe(error: BaseException) -> str:
    if isinstance(error, DglkgmixError):
        return str(error)
    if _is_out_of_memory(error):
        return (
            "out of memory; smaller batches (training.batch_size), a smaller model or smaller "
            "blocks of scores (runtime.block) need less"
        )
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return f"internal error, {type(error).__name__}: {error}; {DEBUG_HINT}"


def _is_out_of_memory(error: BaseException) -> bool:
    """Python's own, NumPy's and both of PyTorch's, which need not be loaded here."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or (isinstance(error, RuntimeError) and "can't allocate memory" in str(error))
    )
