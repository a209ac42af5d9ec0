"""Rows into ``.csv``, ``.tsv``, ``.jsonl`` and ``.parquet`` files, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from dglkgmix.atomic import csv_lines, text_lines, write_atomic
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg.vocabulary import safe_in_spreadsheets
from dglkgmix.paths import path_of

Row = Mapping[str, Any]
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
# Rows held at once for Parquet.
_GROUP = 65_536


def check_ending(path: Path) -> None:
    """ConfigError where :func:`write_rows` would refuse the file's name."""
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path}: answers are written to {', '.join(ENDINGS)} files")


def check_names(path: Path, names: Iterable[str]) -> None:
    """DataError for the first name that a file cannot hold: with a tab or line feed in ``.tsv``."""
    for name in names if path.suffix == ".tsv" else ():
        if "\t" in name or "\n" in name:
            raise DataError(
                f"{path}: the name {name!r} holds a tab or a line feed, which TSV cannot "
                "hold: write .csv, .jsonl or .parquet"
            )


def write_rows(
    path: str | Path,
    rows: Iterable[Row],
    types: Mapping[str, type],
    objects: Iterable[Row] | None = None,
) -> None:
    """Write a file, whole or not at all; rows are read as they are written.

    In ``.csv`` a name that a spreadsheet would take for a formula gets a leading apostrophe; the
    others keep every name to the letter.

    Args:
        path: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``.
        rows: a value or None for each column.
        types: the columns in their order: str, int, float or bool.
        objects: the lines of ``.jsonl``; None is the rows.

    Raises:
        ConfigError: another ending.
        DataError: a name that TSV cannot hold.
        StorageError: the file cannot be written.
    """
    path = path_of(path)
    check_ending(path)
    if path.suffix == ".parquet":
        write_atomic(path, lambda temporary: _parquet(temporary, rows, types))
        return
    if path.suffix == ".jsonl":
        lines: Iterator[str] = (
            json.dumps(row, ensure_ascii=False) + "\n"
            for row in (rows if objects is None else objects)
        )
    else:
        lines = _csv(rows, types) if path.suffix == ".csv" else _tsv(rows, types, path)
    write_atomic(path, text_lines(lines))


def _csv(rows: Iterable[Row], columns: Iterable[str]) -> Iterator[str]:
    safe = safe_in_spreadsheets
    return csv_lines(
        [safe(value) if isinstance(value, str) else value for value in values]
        for values in _with_heading(rows, columns)
    )


def _with_heading(rows: Iterable[Row], columns: Iterable[str]) -> Iterator[list[Any]]:
    yield list(columns)
    for row in rows:
        yield [row[column] for column in columns]


def _tsv(rows: Iterable[Row], columns: Iterable[str], path: Path) -> Iterator[str]:
    for values in _with_heading(rows, columns):
        fields = ["" if value is None else str(value) for value in values]
        check_names(path, fields)
        yield "\t".join(fields) + "\n"


def _parquet(path: Path, rows: Iterable[Row], types: Mapping[str, type]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, arrow[kind]) for name, kind in types.items()])
    left = iter(rows)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := [dict(row) for row in islice(left, _GROUP)]:
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
