"""Runs the blocks of a page, top to bottom, in one folder and one namespace.

What is compared, and what is not: blank space and trailing zeros aside, output must be as shown,
but for figures that follow from trained weights. These are numbers with a decimal point, with a
sign or ``<`` before them, and ``epoch N of N``; each counts as ``#``. A line ``...`` stands for any
number of lines.

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dglkgmix.cli.main import main
from tests.docs.blocks import Block

_EPOCHS = re.compile(r"(?<![.\w])(epochs(?: |=| = |\": ))\d+")
_NUMBER = re.compile(r"(?:[<+−-] ?)?\d[\d,]*\.\d+(?:e[+-]?\d+)?|< \d+\.\d+")
_EPOCH = re.compile(r"epoch \d+ of \d+")
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

    def run(self, block: Block) -> None:
        """Run a block, or compare or write it, by its kind."""
        text = self._cut(block.text)
        if block.title is not None:
            Path(block.title).write_text(text, encoding="utf-8")
        if block.language == "python":
            self.printed = self.python(text, block.where, block.line)
        elif block.language == "console":
            for command, shown in commands(block.text):
                status, printed = shell(self._cut(command))
                check(printed, shown, block, command, status=status)
        elif block.language == "text" and block.follows and self.printed:
            check(self.printed, block.text, block, "the Python above")
        if block.language != "python":
            self.printed = ""

    def python(self, text: str, where: str, line: int) -> str:
        """What the code prints."""
        tree = ast.increment_lineno(ast.parse(text, where), line - 1)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(tree, where, "exec"), self.namespace)
        return out.getvalue()

    def _cut(self, text: str) -> str:
        return _EPOCHS.sub(r"\g<1>2", text) if self.quick else text


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Commands after ``$ ``, each with what is shown beneath it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if parts[0]:
        raise ValueError(f"output before any command: {parts[0]!r}")
    for part in parts[1:]:
        command, rest = "", part
        while True:
            line, _, rest = rest.partition("\n")
            command += line.removesuffix("\\")
            if not line.endswith("\\"):
                break
        yield command, rest


def shell(command: str) -> tuple[int, str]:
    """Exit status and output, both streams, of one command."""
    program, *arguments = shlex.split(command)
    if program == "dglkgmix":
        return _dglkgmix(arguments)
    texts = [Path(argument) for argument in arguments]
    if program == "cat":
        return 0, "".join(path.read_text(encoding="utf-8") for path in texts)
    if program == "head":
        count = int(arguments[0].removeprefix("-n"))
        lines = Path(arguments[-1]).read_text(encoding="utf-8").splitlines(keepends=True)
        return 0, "".join(lines[:count])
    if program == "ls":
        (folder,) = texts or [Path()]
        return 0, "".join(f"{name}\n" for name in sorted(p.name for p in folder.glob("[!.]*")))
    raise ValueError(f"no command for a page: {program!r}")


def _dglkgmix(arguments: list[str]) -> tuple[int, str]:
    out = io.StringIO()
    logger = logging.getLogger("dglkgmix")
    level = logger.level
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(arguments)
    logger.setLevel(level)
    return status, out.getvalue()


def check(printed: str, shown: str, block: Block, what: str, *, status: int = 0) -> None:
    """AssertionError where a command failed without a shown error, or printed something else."""
    expected = [_normal(line) for line in shown.splitlines() if line.strip()]
    found = [_normal(line) for line in printed.splitlines() if line.strip()]
    failed = any(line.startswith("Error: ") for line in expected)
    if (status != 0) != failed:
        raise AssertionError(f"{block.where}: {what}: exit status {status}\n{printed}")
    if not expected:
        return
    if "varies" in block.marks:
        agree = len(found) == len(expected) and found[0] == expected[0]
    else:
        agree = matches(found, expected)
    if not agree:
        raise AssertionError(
            f"{block.where}: {what} printed\n{printed}\nand the page shows\n{shown}"
        )


def matches(found: list[str], expected: list[str]) -> bool:
    """Whether lines are those expected, where ``...`` stands for any number of them."""
    if not expected:
        return not found
    if expected[0] == ANY:
        return any(matches(found[i:], expected[1:]) for i in range(len(found) + 1))
    return bool(found) and found[0] == expected[0] and matches(found[1:], expected[1:])


def _normal(line: str) -> str:
    line = _EPOCH.sub("epoch # of #", _NUMBER.sub("#", line))
    return " ".join(line.split())
