"""Files of queries in, files of answers out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.files import write_atomic
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.readers_text import DIALECTS, read_table
from dglkgmix.kg.vocabulary import safe_in_spreadsheets
from dglkgmix.paths import path_of
from dglkgmix.prediction.answers import Prediction, Query

ROLES = ("head", "relation", "tail")
COLUMNS = (
    *("query", *ROLES, "asked", "place", "score", "probability"),
    *("degree", "bin", "known", "trained"),
)
# Unknown names that a message lists.
MOST_SHOWN = 10
ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


def read_queries(path: str | Path) -> list[tuple[str, Query]]:
    """Queries of a ``.csv``, ``.tsv`` or ``.txt`` file with the columns head, relation and tail.

    The first row names the columns; other columns are ignored. The empty field of a row is asked
    for.

    Returns:
        Each query with ``path:line``.

    Raises:
        DataError: a file that cannot be read, a missing column, or a row that is no query.
    """
    path = path_of(path)
    if path.suffix.lower() not in DIALECTS:
        raise DataError(f"{path}: queries are read from {', '.join(DIALECTS)} files")
    return [(where, _query(where, row)) for where, row in read_table(path, ROLES)]


def _query(where: str, row: dict[str, str]) -> Query:
    try:
        return Query(**{role: row[role] or None for role in ROLES})
    except ConfigError as error:
        raise DataError(f"{where}: {error}") from None


def unknown_names(kg: KnowledgeGraph, queries: Iterable[tuple[str, Query]]) -> dict[str, list[str]]:
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
    others is an answer, :func:`rows`, with ``numbers`` as there. In ``.csv`` a name that a
    spreadsheet would take for a formula gets a leading apostrophe; the others keep every name to
    the letter.

    Raises:
        ConfigError: another ending.
        DataError: a name that TSV cannot hold.
        StorageError: the file cannot be written.
    """
    path = path_of(path)
    check_ending(path)
    if path.suffix == ".jsonl":
        lines = (json.dumps(p.to_dict(), ensure_ascii=False) for p in predictions)
        data = "".join(f"{line}\n" for line in lines).encode()
    else:
        table = list(rows(predictions, numbers))
        if path.suffix == ".parquet":
            data = _parquet(table)
        else:
            data = _tsv(table, path) if path.suffix == ".tsv" else _csv(table)
    write_atomic(path, data)


def check_ending(path: Path) -> None:
    """ConfigError where :func:`write_answers` would refuse the file's name."""
    if path.suffix not in ENDINGS:
        raise ConfigError(f"{path}: answers are written to {', '.join(ENDINGS)} files")


def _csv(table: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in table:
        safe = safe_in_spreadsheets
        writer.writerow({k: safe(v) if isinstance(v, str) else v for k, v in row.items()})
    return text.getvalue().encode()


def _tsv(table: list[dict[str, Any]], path: Path) -> bytes:
    lines = [COLUMNS, *(["" if v is None else str(v) for v in row.values()] for row in table)]
    for fields in lines:
        for field in fields:
            if "\t" in field or "\n" in field:
                raise DataError(
                    f"{path}: the name {field!r} holds a tab or a line feed, which TSV cannot "
                    "hold: write .csv, .jsonl or .parquet"
                )
    return "".join("\t".join(fields) + "\n" for fields in lines).encode()


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
