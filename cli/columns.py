"""Lines of aligned columns for people."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

EMPTY = "–"
# Letters of a cell; a longer name would pad every row.
WIDEST = 60


def aligned(
    rows: Sequence[Sequence[str]], right: Container[int] | None = None, indent: str = "  "
) -> str:
    """Rows of equally many cells as lines; columns in ``right`` are flush right, by default all
    but the first. A cell of more than ``WIDEST`` letters ends in "…", unless it is the last.
    """
    rows = [[*map(_cut, row[:-1]), row[-1]] for row in rows]
    flush = range(1, len(rows[0])) if right is None else right
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in flush else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def _cut(cell: str) -> str:
    return cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 1]}…"


def number(value: float | None, style: str = "{:.4f}") -> str:
    """A figure, or a dash where there is none (None or NaN)."""
    return EMPTY if value is None or value != value else style.format(value)  # noqa: PLR0124


def share(part: int, whole: int) -> str:
    """A share in per cent with one decimal place; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def account_table(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """One block of lines for each named account, bins below their overall figures.

    Shares have four places; a group without queries shows dashes.
    """
    from dglkgmix.evaluation.metrics import columns

    rows = [["", "", "queries", *(metric.title for metric in columns())]]
    for name, account in accounts.items():
        named = [(name, "overall", account["overall"])]
        # Runs of 0.1.0 have no "entities".
        ages = {f"{age} entities": part for age, part in (account.get("entities") or {}).items()}
        named += [("", label, group) for label, group in (account["bins"] | ages).items()]
        for first, second, group in named:
            values = [(group[metric.name], metric.style) for metric in columns()]
            figures = ["-" if value is None else style.format(value) for value, style in values]
            rows.append([first, second, f"{group['queries']:,}", *figures])
    return aligned(rows, right=range(2, len(rows[0])), indent="")
