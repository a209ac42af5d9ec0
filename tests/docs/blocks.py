"""The fenced blocks of a page of documentation, and what the tests are to do with them.

A fence says its language; an HTML comment in the line before it may mark it:

``<!-- long -->``
    too long for `make test`: runs under `make test-long`, with all blocks of its page before it.
``<!-- data -->``
    needs a data set that is not in the package: runs where the four are laid beside the repository.
``<!-- varies -->``
    what it prints depends on the weights of a model: only its first line and the number of its
    lines are compared.

``title="NAME"`` after the language makes a file of the block. A ``text`` block right after a
``python`` block is what that prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT

RUN = ("python", "console")
# Shown, never run: what is typed before anything is installed, and what files or pages look like.
SHOWN = ("sh", "text", "toml", "json", "csv")
MARKS = {"long", "data", "varies"}

_FENCE = re.compile(r"^(?P<indent>\s*)```(?P<info>.*)$")
_INFO = re.compile(r'(?P<language>\w+)(?: title="(?P<title>[^"]+)")?')
_MARK = re.compile(r"<!-- (?P<marks>[a-z ]+) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block; ``line`` is the 1-based line of its first content."""

    page: Path
    line: int
    language: str
    text: str
    title: str | None = None
    marks: frozenset[str] = field(default_factory=frozenset)
    follows: bool = False
    """Only blank lines stand between it and the block before."""

    @property
    def where(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages():
    """All pages, the readme and the contributors' page included."""
    names = ["README.md", "CONTRIBUTING.md", "datasets/README.md"]
    return [ROOT / name for name in names] + sorted((ROOT / "docs").rglob("*.md"))


def blocks(page):
    """The blocks of a page; ValueError for one that the tests would not understand."""
    return list(_blocks(page, page.read_text(encoding="utf-8").splitlines()))


def _blocks(page, lines):
    number, last = 0, None
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            number += 1
            continue
        where = f"{page.name}:{number + 1}"
        info = _INFO.fullmatch(fence["info"])
        if fence["indent"] or info is None or info["language"] not in RUN + SHOWN:
            raise ValueError(f"{where}: a fence that the tests do not know: {lines[number]!r}")
        end = lines.index("```", number + 1)
        between = lines[last + 1 : number] if last is not None else ["start of page"]
        yield Block(
            page,
            number + 2,
            info["language"],
            "\n".join(lines[number + 1 : end]) + "\n",
            info["title"],
            _marks(lines[number - 1] if number else "", where),
            follows=not any(line.strip() for line in between),
        )
        number, last = end + 1, end


def _marks(line, where):
    mark = _MARK.fullmatch(line)
    if mark is None:
        return frozenset()
    found = frozenset(mark["marks"].split())
    if not found <= MARKS:
        raise ValueError(f"{where}: unknown marks {sorted(found - MARKS)}")
    return found
