import os
import re
import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import click
import pytest

from dglkgmix import errors
from dglkgmix.cli import main as cli_main
from dglkgmix.cli.main import COMMANDS, cli, main


@pytest.fixture
def run(capsys):
    def call(*args):
        status = main(args)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def act(monkeypatch):
    """Adds a command ``act`` that does what the test says."""
    module = types.ModuleType("act")

    def define(body):
        @click.command()
        def command():
            """Act."""
            return body()

        module.act = command

    monkeypatch.setitem(sys.modules, "dglkgmix.cli.act", module)
    monkeypatch.setattr(cli_main, "COMMANDS", (*COMMANDS, "act"))
    return define


def raising(error):
    def body():
        raise error

    return body


class TestUsage:
    def test_no_command(self, run):
        status, out, err = run()
        assert (status, out) == (2, "")
        assert err.startswith("Usage: dglkgmix [OPTIONS]")
        assert "train" in err

    def test_help_lists_every_command_with_its_summary(self, run):
        status, out, err = run("--help")
        assert (status, err) == (0, "")
        commands = out.partition("Commands:")[2]
        listed = re.findall(r"^  (\S+) +\S+ \S+", commands, re.MULTILINE)
        assert listed == [*COMMANDS, "Example:"]
        assert "..." not in commands, "summaries are whole"

    @pytest.mark.parametrize(
        ("typed", "hint"),
        [
            ("tran", "No such command 'tran'. Did you mean 'train'?"),
            ("evalute", "No such command 'evalute'. Did you mean 'evaluate'?"),
            ("zzz", "No such command 'zzz'."),
        ],
    )
    def test_a_mistyped_command(self, run, typed, hint):
        status, out, err = run(typed)
        assert (status, out) == (2, "")
        assert err.splitlines()[-1] == f"Error: {hint}"

    def test_another_name_is_no_command(self):
        assert cli.get_command(click.Context(cli), "nonsense") is None


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "status", "message"),
        [
            (errors.DataError("a.tsv:3: expected 3 fields"), 2, "a.tsv:3: expected 3 fields"),
            (errors.UnknownNameError("no entity 'x'"), 2, "no entity 'x'"),
            (errors.OutOfRangeError("entity 7 of 5"), 2, "entity 7 of 5"),
            (errors.ConfigError("alpha must be above 0"), 2, "alpha must be above 0"),
            (errors.CheckpointError("run: damaged"), 2, "run: damaged"),
            (errors.NumericError("epoch 3: loss is nan"), 1, "epoch 3: loss is nan"),
            (errors.StorageError("run: the disk is full"), 1, "run: the disk is full"),
            (errors.DependencyError("DGL is not installed"), 1, "DGL is not installed"),
            (FileNotFoundError(2, "No such file", "a.tsv"), 1, "a.tsv: No such file"),
            (OSError("strange"), 1, "strange"),
            (MemoryError(), 1, "out of memory; smaller batches"),
            (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 1, "out of memory"),
            (type("OutOfMemoryError", (RuntimeError,), {})("CUDA"), 1, "out of memory"),
            (KeyError("x"), 1, "internal error, KeyError: 'x'; run it again as `dglkgmix --debug"),
            (errors.DataError("no entity '\x1b[2Jx'"), 2, r"no entity '\x1b[2Jx'"),
        ],
    )
    def test_one_line_and_a_status(self, run, act, error, status, message):
        act(raising(error))
        ended, out, err = run("act")
        assert (ended, out) == (status, "")
        assert err.startswith(f"Error: {message}")
        assert err.count("\n") == 1

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
    def test_interrupted(self, run, act, error):
        act(raising(error))
        status, out, err = run("act")
        assert (status, out) == (130, "")
        assert err.strip() == "Interrupted."

    def test_a_program_that_was_interrupted_ends_undisturbed(self, act, monkeypatch):
        """Called as a function, `main` leaves the signal to its caller."""
        act(raising(KeyboardInterrupt()))
        before = signal.getsignal(signal.SIGINT)
        try:
            assert main(["act"]) == 130
            assert signal.getsignal(signal.SIGINT) is before
            monkeypatch.setattr(sys, "argv", ["dglkgmix", "act"])
            assert main() == 130
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (SystemExit(130), 130),
            (SystemExit(None), 0),
            (SystemExit("words"), 1),
            (click.exceptions.Exit(3), 3),
            (click.UsageError("bad"), 2),
            (click.ClickException("bad"), 1),
        ],
    )
    def test_what_a_command_decides_itself(self, run, act, error, status):
        act(raising(error))
        assert run("act")[0] == status

    def test_debug_shows_the_traceback_too(self, run, act):
        act(raising(errors.DataError("a.tsv:3: bad")))
        status, out, err = run("--debug", "act")
        assert (status, out) == (2, "")
        assert err.startswith("Traceback (most recent call last):")
        assert err.endswith("Error: a.tsv:3: bad\n")

    def test_no_password_is_shown(self, run, act):
        act(raising(RuntimeError("postgresql://u:s3cret@h/db cannot be reached")))
        for status, args in (
            (1, ("act",)),
            (1, ("--debug", "act")),
            (2, ("act", "x://u:s3cret@h")),
        ):
            found, out, err = run(*args)
            assert (found, out) == (status, "")
            assert "//u:***@h" in err
            assert "s3cret" not in err


class TestStreams:
    ACT = """
        import sys, types, click
        from dglkgmix.cli import main
        @click.command()
        def command():
            {body}
        sys.modules["dglkgmix.cli.act"] = types.SimpleNamespace(act=command)
        main.COMMANDS = (*main.COMMANDS, "act")
        sys.exit(main.main(["act"]))
    """

    def code(self, body):
        return textwrap.dedent(self.ACT).format(body=body)

    def ended(self, body, **streams):
        """The command with this body, in a process of its own."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-c", self.code(body)]
        return subprocess.run(command, **(pipes | streams), text=True)

    @pytest.fixture
    def blocked(self):
        """Streams that cannot be written: a full disk, and a pipe that nobody reads."""
        read, unread = os.pipe()
        os.close(read)
        with Path("/dev/full").open("w") as full:
            yield {"full": full, "unread": unread}
        os.close(unread)

    def test_a_reader_that_stops_reading(self, blocked):
        """As in `dglkgmix ... | head`: in silence, however little was written."""
        for lines in (1, 100_000):
            done = self.ended(f"for i in range({lines}): print(i)", stdout=blocked["unread"])
            assert (done.returncode, done.stderr) == (1, "")

    def test_a_full_disk_behind_stdout(self, blocked):
        done = self.ended("print(1)", stdout=blocked["full"])
        what = "standard output cannot be written: No space left on device"
        assert (done.returncode, done.stderr) == (1, f"Error: {what}\n")

    @pytest.mark.parametrize(
        ("body", "status", "printed"),
        [
            ("click.echo('a warning', err=True); print(1)", 0, "1\n"),
            ("print(1); raise click.UsageError('x' * 10_000)", 2, "1\n"),
            ("raise KeyboardInterrupt", 130, ""),
            ("raise ValueError", 1, ""),
        ],
    )
    @pytest.mark.parametrize("how", ["full", "unread"])
    def test_a_standard_error_that_cannot_be_written_changes_no_status(
        self, blocked, how, body, status, printed
    ):
        done = self.ended(body, stderr=blocked[how])
        assert (done.returncode, done.stdout) == (status, printed)

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    def test_a_closed_stream_is_nowhere_for_children_too(self, closed, tmp_path):
        """No file of ours gets the number of a closed stream."""
        body = (
            "import os, subprocess; print(1); click.echo(2, err=True); file = open('file', 'w'); "
            "there = [os.fstat(number) for number in range(3)]; "
            "assert file.fileno() > 2; "
            "assert subprocess.run(['sh', '-c', 'echo 3; echo 4 >&2']).returncode == 0"
        )
        command = [sys.executable, "-c", self.code(body)]
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ("" if ">&-" in closed.split() else "1\n3\n")
        assert done.stderr == ("" if "2>&-" in closed else "2\n4\n")

    @pytest.mark.parametrize(
        ("command", "closed"),
        [
            ("data list", ">&-"),
            ("data list", "2>&-"),
            ("train toy --epochs 1 --out run", ">&- 2>&-"),
        ],
    )
    def test_commands_with_closed_streams(self, command, closed, toy_folder):
        line = f"exec {sys.executable} -m dglkgmix {command} {closed}"
        done = subprocess.run(line, shell=True, cwd=toy_folder.parent, capture_output=True)
        assert done.returncode == 0

    def test_a_name_that_the_locale_cannot_show(self, run_python):
        code = self.code("print('Ångström 東京')")
        done = run_python(code, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        assert done.stdout == "\\xc5ngstr\\xf6m \\u6771\\u4eac\n"


def paths(command, prefix):
    yield prefix
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            yield from paths(child, (*prefix, name))


class TestEveryCommand:
    def test_help_of_all_loads_neither_pytorch_nor_dgl(self, run_python):
        """What makes `--help` slow, checked without a clock: modules, not seconds."""
        code = """
            import io, sys
            from contextlib import redirect_stdout
            from dglkgmix.cli.main import main
            for path in sys.argv[1:]:
                with redirect_stdout(io.StringIO()) as out:
                    assert main([*path.split(), "--help"]) == 0, path
                assert "Usage: dglkgmix" in out.getvalue(), path
            heavy = {"torch", "dgl", "numpy", "sklearn", "scipy", "pandas", "pyarrow",
                     "matplotlib", "jinja2", "optuna"}
            print(sorted(heavy & set(sys.modules)))
        """
        done = run_python(code, *(" ".join(path) for path in paths(cli, ())))
        assert (done.stdout, done.stderr) == ("[]\n", "")

    def test_every_help_has_a_text_and_an_example(self, run):
        for path in paths(cli, ()):
            status, out, _ = run(*path, "--help")
            name = " ".join(("dglkgmix", *path))
            assert status == 0, name
            assert f"Usage: {name} " in out
            assert "Example: dglkgmix" in out, f"{name} --help shows no example"

    def test_import_of_the_package_loads_nothing_else(self, run_python):
        code = "import dglkgmix, sys; print({'torch', 'dgl', 'numpy', 'click'} & set(sys.modules))"
        assert run_python(code).stdout == "set()\n"
