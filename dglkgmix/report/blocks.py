"""What a page is made of; the template knows how each kind looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dglkgmix.report.examples import Example
from dglkgmix.report.figures.canvas import page_svg
from dglkgmix.report.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An inline SVG with its caption."""

    svg: str
    caption: str
    wide: bool = False


class Row:
    """Blocks side by side where the window has room."""

    def __init__(self, *blocks: Block) -> None:
        self.blocks = blocks


@dataclass(frozen=True)
class Code:
    """Text as it stands in a file."""

    text: str


class Fold:
    """Blocks behind a title, opened by a click."""

    def __init__(self, title: str, *blocks: Block) -> None:
        self.title, self.blocks = title, blocks


@dataclass(frozen=True)
class Queries:
    """Example predictions."""

    examples: Sequence[Example]


Block = Text | Table | Picture | Row | Code | Fold | Queries


class Section:
    """A heading with its blocks."""

    def __init__(self, anchor: str, title: str, *blocks: Block) -> None:
        self.anchor, self.title, self.blocks = anchor, title, blocks


def picture(
    name: str, drawn: tuple[Figure, str], title: str, caption: str, *, wide: bool = False
) -> Picture:
    """A figure, drawn and described, for the page; ``name`` is unique on it."""
    return Picture(page_svg(drawn[0], name, title, drawn[1]), caption, wide)
