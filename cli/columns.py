"""Lines of aligned columns for people."""

from __future__ import annotations

from collections.abc import Container, Sequence


def aligned(
    rows: Sequence[Sequence[str]], right: Container[int] | None = None, indent: str = "  "
) -> str:
    """Rows of equally many cells as lines; columns in ``right`` are flush right, by default all
    but the first.
    """
    count = len(rows[0])
    flush = range(1, count) if right is None else right
    widths = [max(len(row[i]) for row in rows) for i in range(count)]
    return "\n".join(indent + _line(row, widths, flush) for row in rows)


def share(part: int, whole: int) -> str:
    """A share in per cent with one decimal place; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _line(row: Sequence[str], widths: Sequence[int], right: Container[int]) -> str:
    cells = [
        cell.rjust(width) if i in right else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
