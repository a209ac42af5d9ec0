"""Files of queries in, files of answers out: ``.csv``, ``.tsv``, ``.jsonl`` and ``.parquet``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from dglkgmix.atomic import csv_lines, text_lines, write_atomic
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg import ROLES
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.readers_text import DIALECTS, read_table
from dglkgmix.kg.vocabulary import safe_in_spreadsheets
from dglkgmix.paths import check_ending, path_of
from dglkgmix.prediction.answers import Prediction, Query
from dglkgmix.prediction.facts import Triple

COLUMNS = {
    "query": int,
    "head": str,
    "relation": str,
    "tail": str,
    "asked": str,
    "place": int,
    "score": float,
    "probability": float,
    "degree": int,
    "bin": str,
    "known": bool,
    "trained": bool,
}
Row = Mapping[str, Any]
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
# Unknown names that a message lists; rows held at once for Parquet.
MOST_SHOWN, _GROUP = 10, 65_536


def read_queries(path: str | Path) -> list[tuple[str, Query | Triple]]:
    """Queries of a ``.csv``, ``.tsv`` or ``.txt`` file with the columns head, relation and tail.

    The first row names the columns; other columns are ignored. The empty field of a row is asked
    for; a row without one is a given fact.

    Returns:
        Each query or fact with ``path:line``.

    Raises:
        DataError: a file that cannot be read, a missing column, or a row that is no query.
    """
    path = path_of(path)
    if path.suffix.lower() not in DIALECTS:
        raise DataError(f"{path}: queries are read from {', '.join(DIALECTS)} files")
    found: list[tuple[str, Query | Triple]] = []
    for where, row in read_table(path, ROLES):
        names = {role: row[role] for role in ROLES if row[role]}
        try:
            found.append((where, Triple(**names) if len(names) == 3 else Query(**names)))
        except ConfigError as error:
            raise DataError(f"{where}: {error}") from None
    return found


def unknown_names(
    kg: KnowledgeGraph, queries: Iterable[tuple[str, Query | Triple]]
) -> dict[str, list[str]]:
    """What is to be said of each name that the graph lacks, and where it stands.

    Names beyond the first ``MOST_SHOWN`` come without close matches, which take long to find.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for where, query in queries:
        for role, name in query.given.items():
            vocabulary = kg.relations if role == "relation" else kg.entities
            if name not in vocabulary:
                found.setdefault((vocabulary.kind, name), []).append(where)
    by_kind = {"relation": kg.relations, "entity": kg.entities}
    return {
        by_kind[kind].unknown(name) if i < MOST_SHOWN else f"unknown {kind} {name!r}": places
        for i, ((kind, name), places) in enumerate(found.items())
    }


def rows(
    predictions: Iterable[Prediction], numbers: Iterable[int] | None = None
) -> Iterator[dict[str, Any]]:
    """One row an answer, keys ``COLUMNS``; the answer's name stands where it was asked for.

    ``numbers`` are those of the queries, None for 1, 2 and so on.
    """
    for number, prediction in zip(numbers or count(1), predictions):  # noqa: B905  # count is endless
        query = prediction.query
        for place, answer in enumerate(prediction.answers, start=1):
            values = asdict(answer)
            names = query.given | {query.asked: values.pop("name")}
            row = {"query": number, "asked": query.asked, "place": place} | names | values
            yield {column: row[column] for column in COLUMNS}


def write_answers(
    path: str | Path, predictions: Iterable[Prediction], numbers: Iterable[int] | None = None
) -> None:
    """Write a ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file, whole or not at all.

    A line of ``.jsonl`` is a query with its answers, :meth:`Prediction.to_dict`; a row of the
    others is an answer, :func:`rows`, with ``numbers`` as there.

    Raises: as :func:`write_rows`.
    """
    found = list(predictions)
    write_rows(path, rows(found, numbers), COLUMNS, (p.to_dict() for p in found))


def check_names(path: Path, names: Iterable[str]) -> None:
    """DataError for the first name that a file cannot hold: with a tab or line feed in ``.tsv``."""
    for name in names if path.suffix.lower() == ".tsv" else ():
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
    check_ending(path, ENDINGS)
    ending = path.suffix.lower()
    if ending == ".parquet":
        write_atomic(path, lambda temporary: _parquet(temporary, rows, types))
        return
    if ending == ".jsonl":
        written = rows if objects is None else objects
        lines: Iterator[str] = (json.dumps(row, ensure_ascii=False) + "\n" for row in written)
    else:
        lines = _lines(rows, types, path)
    write_atomic(path, text_lines(lines))


def _lines(rows: Iterable[Row], columns: Iterable[str], path: Path) -> Iterator[str]:
    table = chain([list(columns)], ([row[column] for column in columns] for row in rows))
    if path.suffix.lower() == ".csv":
        safe = safe_in_spreadsheets
        yield from csv_lines([safe(v) if isinstance(v, str) else v for v in row] for row in table)
        return
    for row in table:
        fields = ["" if value is None else str(value) for value in row]
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
