"""Runs the blocks of a page, top to bottom, in one folder and one namespace.

What is compared: output must be as shown, blank space aside. Where weights are trained, figures
that follow from them are not compared: numbers with a decimal point, signs and ``<`` before them
included, and ``epoch N of N``; each counts as ``#``, and the warning of a model worse than
popularity is left out. A line ``...`` stands for any number of lines.

Quick runs train every stage for two epochs, whatever the page says; `make test-long` leaves epochs
as they are.
"""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dglkgmix.cli.main import main

_EPOCHS = re.compile(r"(?<!\w)(epochs(?: |=| = |\": ))\d+")
_NUMBER = re.compile(r"(?:[<=+−-] ?)?\d[\d,]*\.\d+(?:e[+-]?\d+)?")
_EPOCH = re.compile(r"epoch \d+(?:, stopped early after \d+)? of \d+")
# On standard error, and about what was learnt.
_OF_SHORT_TRAININGS = (
    "Warning: the model's MRR, ",
    "Warning: stage 'train' ends with ",
    "Warning: no probabilities: ",
    "  answers are in the order of their scores; ",
    "  * MRR of ranking by popularity alone: ",
)
# What prints the same everywhere, to the last digit.
_EXACT = ("dglkgmix data ", "dglkgmix degrees ", "dglkgmix recipes", "cat ", "head ", "ls ")
ANY = "..."


@dataclass
class Runner:
    """Runs blocks in the current folder.

    Attributes:
        quick: whether epochs are cut down.
        namespace: what Python blocks share.
    """

    quick: bool = True
    namespace: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""

    def run(self, block):
        """Run a block, or compare or write it, by its kind."""
        text = self._cut(block.text)
        if block.title is not None:
            Path(block.title).write_text(text, encoding="utf-8")
        if block.language == "python":
            self.printed = self.python(text, block.where, block.line)
        elif block.language == "console":
            for command in commands(block.text):
                status, printed = shell(self._cut(command.line))
                check(printed, command.shown, block, command.line, status=status)
        elif block.language == "text" and block.title is None and block.follows and self.printed:
            check(self.printed, block.text, block, "the Python above")
        if block.language != "python":
            self.printed = ""

    def python(self, text, where, line):
        """What the code prints."""
        tree = ast.increment_lineno(ast.parse(text, where), line - 1)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(tree, where, "exec"), self.namespace)
        return out.getvalue()

    def _cut(self, text):
        return _EPOCHS.sub(r"\g<1>2", text) if self.quick else text


@dataclass(frozen=True)
class Command:
    """A command of a console block: as typed, joined to a line, and what is shown beneath."""

    typed: str
    line: str
    shown: str


def commands(text):
    """The commands of a console block: lines after ``$ ``, which a backslash may continue."""
    before, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if before:
        raise ValueError(f"output before any command: {before!r}")
    for part in parts:
        typed = re.match(r"(?:.*\\\n)*.*\n", part)
        assert typed is not None
        yield Command(typed[0], typed[0].replace("\\\n", " ").strip(), part[typed.end() :])


def shell(command):
    """Exit status and output, both streams, of one command."""
    program, *arguments = shlex.split(command)
    if program == "dglkgmix":
        return _dglkgmix(arguments)
    if program == "cat":
        return 0, "".join(Path(name).read_text(encoding="utf-8") for name in arguments)
    if program == "head":
        _, count, name = arguments
        lines = Path(name).read_text(encoding="utf-8").splitlines(keepends=True)
        return 0, "".join(lines[: int(count)])
    if program == "ls":
        files = Path(*arguments).glob("[!.]*")
        return 0, "".join(f"{name}\n" for name in sorted(path.name for path in files))
    raise ValueError(f"no command for a page: {program!r}")


def _dglkgmix(arguments):
    if "--help" in arguments:
        return _in_its_own_process(arguments)
    out = io.StringIO()
    logger = logging.getLogger("dglkgmix")
    level = logger.level
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(arguments)
    logger.setLevel(level)
    return status, out.getvalue()


def _in_its_own_process(arguments):
    """As a person calls it: click keeps a command's help option as its first use made it."""
    done = subprocess.run(
        [sys.executable, "-m", "dglkgmix", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def check(printed, shown, block, what, *, status=0):
    """AssertionError where a command failed without a shown error, or printed something else."""
    loose = not what.startswith(_EXACT)
    expected, found = (
        [
            _normal(line, loose)
            for line in text.splitlines()
            if line.strip() and not line.startswith(_OF_SHORT_TRAININGS)
        ]
        for text in (shown, printed)
    )
    if (status != 0) != any(line.startswith("Error: ") for line in expected):
        raise AssertionError(f"{block.where}: {what}: exit status {status}\n{printed}")
    if not expected:
        return
    if "varies" in block.marks:
        agree = len(found) == len(expected) and found[0] == expected[0]
    else:
        agree = matches(found, expected)
    if not agree:
        raise AssertionError(f"{block.where}: {what} printed\n{printed}\nthe page shows\n{shown}")


def matches(found, expected):
    """Whether lines are those expected, where ``...`` stands for any number of them."""
    if not expected:
        return not found
    if expected[0] == ANY:
        return any(matches(found[i:], expected[1:]) for i in range(len(found) + 1))
    return bool(found) and found[0] == expected[0] and matches(found[1:], expected[1:])


def _normal(line, loose):
    if loose:
        line = _EPOCH.sub("epoch # of #", _NUMBER.sub("#", line))
    return " ".join(line.split())
