"""Lines of aligned columns for people."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from itertools import accumulate
from typing import Any

EMPTY = "–"
# Width of a cell in Latin letters; a wider name would pad every row.
WIDEST = 60


def aligned(
    rows: Sequence[Sequence[str]], right: Container[int] | None = None, indent: str = "  "
) -> str:
    """Rows of equally many cells as lines; columns in ``right`` are flush right, by default all
    but the first. A cell wider than ``WIDEST`` ends in "…", unless it is the last.
    """
    rows = [[*map(_cut, row[:-1]), row[-1]] for row in rows]
    flush = range(1, len(rows[0])) if right is None else right
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            gap + cell if i in flush else cell + gap
            for i, (cell, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def counted(count: int, noun: str) -> str:
    """``1 query``, ``2,000 queries``."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def _width(text: str) -> int:
    """Places that a terminal takes: two for wide letters such as 東, none for marks."""
    none = ("Mn", "Me", "Cf")
    return sum(
        2 if unicodedata.east_asian_width(x) in "WF" else unicodedata.category(x) not in none
        for x in text
    )


def _cut(cell: str) -> str:
    if _width(cell) <= WIDEST:
        return cell
    return f"{cell[: bisect_right(list(accumulate(map(_width, cell))), WIDEST - 1)]}…"


def number(value: float | None, style: str = "{:.4f}") -> str:
    """A figure, or a dash where there is none (None or NaN)."""
    return EMPTY if value is None or value != value else style.format(value)  # noqa: PLR0124


def share(part: int, whole: int) -> str:
    """A share in per cent with one decimal place; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def account_table(name: str, account: Mapping[str, Any]) -> str:
    """An account and its name, bins below the overall figures.

    Shares have four places; a group without queries shows dashes.
    """
    from dglkgmix.evaluation.metrics import columns

    rows = [["", "", "queries", *(metric.title for metric in columns())]]
    ages = {f"{age} entities": part for age, part in (account["entities"] or {}).items()}
    for label, group in ({"overall": account["overall"]} | account["bins"] | ages).items():
        values = [(group[metric.name], metric.style) for metric in columns()]
        figures = ["-" if value is None else style.format(value) for value, style in values]
        rows.append([name if label == "overall" else "", label, f"{group['queries']:,}", *figures])
    return aligned(rows, right=range(2, len(rows[0])), indent="")
