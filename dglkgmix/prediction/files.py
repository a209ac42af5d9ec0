"""Files of queries in, files of answers out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.readers_text import DIALECTS, read_table
from dglkgmix.paths import path_of
from dglkgmix.prediction.answers import Prediction, Query
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.tables import write_rows

ROLES = ("head", "relation", "tail")
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
# Unknown names that a message lists.
MOST_SHOWN = 10


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
    return [(where, _query(where, row)) for where, row in read_table(path, ROLES)]


def _query(where: str, row: dict[str, str]) -> Query | Triple:
    if all(row[role] for role in ROLES):
        return Triple(*(row[role] for role in ROLES))
    try:
        return Query(**{role: row[role] or None for role in ROLES})
    except ConfigError as error:
        raise DataError(f"{where}: {error}") from None


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

    Raises: as :func:`dglkgmix.prediction.tables.write_rows`.
    """
    found = list(predictions)
    write_rows(path, rows(found, numbers), COLUMNS, (p.to_dict() for p in found))
