"""What all benchmarks share: their options, the JSON they leave and the table they print."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.machine import describe

Row = dict[str, Any]


def parser(doc: str | None) -> argparse.ArgumentParser:
    """``--out`` and ``--tiny``."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--out", type=Path, default=Path("build/bench"), help="folder for the JSON")
    made.add_argument("--tiny", action="store_true", help="seconds instead of minutes, to try it")
    return made


def leave(name: str, out: Path, how: str, rows: Sequence[Row], columns: Sequence[str]) -> Path:
    """Write ``out/name.json`` and print ``columns`` of its rows.

    Args:
        name: of the benchmark.
        out: folder, made where it is not there.
        how: what was measured and how it was scaled, for readers of the JSON.
        rows: results, one dictionary each.
        columns: keys to show, ``a.b`` for a key within a key.
    """
    result = {"bench": name, "how": how, "machine": describe(), "rows": list(rows)}
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"\n{name}: {how}\n")
    print(table([[shown(pick(row, column)) for column in columns] for row in rows], columns))
    print(f"\n{path}")
    return path


def pick(row: Row, column: str) -> Any:
    """The value of ``a.b`` in nested dictionaries; None where it is not there."""
    value: Any = row
    for key in column.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def shown(value: Any) -> str:
    """A value for people: three digits of a fraction, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> str:
    """Plain text with aligned columns."""
    lines = [list(columns), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
