"""Lines of aligned columns for people."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int = 1, indent: str = "  ") -> str:
    """Rows of cells as lines: the first ``left`` columns to the left, the others to the right."""
    count = max(len(row) for row in rows)
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(count)]
    return "\n".join(indent + _line(row, widths, left) for row in rows)


def share(part: int, whole: int) -> str:
    """A share in per cent with one decimal place; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _line(row: Sequence[str], widths: Sequence[int], left: int) -> str:
    cells = [
        cell.ljust(width) if i < left else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=False))
    ]
    return "  ".join(cells).rstrip()
