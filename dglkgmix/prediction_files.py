"""Files of queries in, files of answers out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.files import write_atomic
from dglkgmix.prediction import Prediction, Query

ROLES = ("head", "relation", "tail")
COLUMNS = (
    *("query", *ROLES, "asked", "place", "score", "probability"),
    *("degree", "bin", "known", "trained"),
)
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
# What makes a spreadsheet take a cell for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read_queries(path: str | Path) -> list[tuple[str, Query]]:
    """Queries of a ``.csv``, ``.tsv`` or ``.txt`` file with the columns head, relation and tail.

    The first row names the columns; other columns are ignored. The empty field of a row is asked
    for.

    Returns:
        Each query with ``path:line``.

    Raises:
        DataError: a file that cannot be read, a missing column, or a row that is no query.
    """
    path = Path(path)
    if path.suffix not in DELIMITERS:
        raise DataError(f"{path}: queries are read from {', '.join(DELIMITERS)} files")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(_queries(path, csv.reader(file, delimiter=DELIMITERS[path.suffix])))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _queries(path: Path, reader: Any) -> Iterator[tuple[str, Query]]:
    header: list[str] = next(reader, [])
    missing = [role for role in ROLES if role not in header]
    if missing:
        raise DataError(
            f"{path}: column {missing[0]!r} is missing; the first row names the columns "
            "head, relation and tail"
        )
    places = {role: header.index(role) for role in ROLES}
    for fields in reader:
        where = f"{path}:{reader.line_num}"
        if not fields:
            continue
        if len(fields) != len(header):
            raise DataError(f"{where}: {len(fields)} fields where {len(header)} belong")
        given = {role: fields[place] or None for role, place in places.items()}
        try:
            yield where, Query(**given)
        except ConfigError as error:
            raise DataError(f"{where}: {error}") from None


def rows(predictions: Iterable[Prediction]) -> Iterator[dict[str, Any]]:
    """One row an answer, keys ``COLUMNS``; the answer's name stands where it was asked for."""
    for number, prediction in enumerate(predictions, start=1):
        query = prediction.query
        for place, answer in enumerate(prediction.answers, start=1):
            values = asdict(answer)
            names = query.given | {query.asked: values.pop("name")}
            row = {"query": number, "asked": query.asked, "place": place} | names | values
            yield {column: row[column] for column in COLUMNS}


def write_answers(path: str | Path, predictions: Iterable[Prediction]) -> None:
    """Write a ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file, whole or not at all.

    A line of ``.jsonl`` is a query with its answers, :meth:`Prediction.to_dict`; a row of the
    others is an answer, :func:`rows`. In ``.csv`` and ``.tsv`` a name that a spreadsheet would
    take for a formula gets a leading apostrophe; the others keep every name to the letter.

    Raises:
        ConfigError: another ending.
        StorageError: the file cannot be written.
    """
    path = Path(path)
    check_ending(path)
    if path.suffix == ".jsonl":
        lines = (json.dumps(p.to_dict(), ensure_ascii=False) for p in predictions)
        data = "".join(f"{line}\n" for line in lines).encode()
    elif path.suffix == ".parquet":
        data = _parquet(list(rows(predictions)))
    else:
        data = _delimited(list(rows(predictions)), DELIMITERS[path.suffix])
    write_atomic(path, data)


def check_ending(path: Path) -> None:
    """ConfigError where :func:`write_answers` would refuse the file's name."""
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path}: answers are written to {', '.join(ENDINGS)} files")


def _delimited(table: list[dict[str, Any]], delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _harmless(value) for key, value in row.items()} for row in table)
    return text.getvalue().encode()


def _harmless(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(FORMULA)
    return f"'{value}" if is_formula else value


def _parquet(table: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, flag = pa.string(), pa.bool_()
    types = [pa.int64(), text, text, text, text, pa.int64(), pa.float64(), pa.float64()]
    types += [pa.int64(), text, flag, flag]
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(table, schema=schema), sink, compression="zstd")
    return sink.getvalue()
