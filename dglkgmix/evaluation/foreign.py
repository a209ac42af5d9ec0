"""Ranks that another tool computed, read into a rank table (columns of the user's own file)."""

from __future__ import annotations

import logging
import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import torch

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.queries import DIRECTIONS, HEAD, TAIL, EvalQueries, evaluation_queries
from dglkgmix.evaluation.rank_table import RANKS, RankTable
from dglkgmix.evaluation.ranking import Ranks
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.readers_text import DIALECTS, check_columns, read_table
from dglkgmix.parquet import read_checked
from dglkgmix.paths import path_of

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

REQUIRED = ("head", "relation", "tail", "direction", "rank")
OPTIONAL = ("score", "rank_optimistic", "rank_pessimistic")
_log = logging.getLogger(__name__)
Row = tuple[str, dict[str, Any]]  # where it stands, and its fields
Key = tuple[int, int, int, int]


def read_ranks(
    path: str | Path,
    kg: KnowledgeGraph,
    split: str,
    options: ReadOptions | None = None,
    candidates: Candidates | None = None,
) -> RankTable:
    """The rank table of a Parquet, CSV or TSV file (by ending) with the columns ``REQUIRED``.

    ``score``, ``rank_optimistic`` and ``rank_pessimistic`` are read where they are. Degrees and
    candidates are counted afresh from the graph. A triple that the split holds twice may stand
    once or twice for each direction. Of ``options``, ``strip`` and ``normalize`` are used.
    ``candidates`` are those that were ranked; None is the graph's default.

    Raises:
        DataError: a column, name, direction or rank that cannot be; a query twice, or one that
            the split lacks, or none for a query of the split. The message names file and line.
    """
    path, queries = path_of(path), evaluation_queries(kg, split)
    positions: defaultdict[Key, list[int]] = defaultdict(list)
    rows = kg.split(split).tolist()
    for index, key in enumerate((*row, direction) for direction in (TAIL, HEAD) for row in rows):
        positions[key].append(index)
    unknown = torch.full((len(queries),), torch.nan, dtype=torch.float64)
    values = {name: unknown.clone() for name in ("score", *RANKS)}
    filled: Counter[Key] = Counter()
    for where, row in _rows(path):
        key = _key(where, row, kg, options or ReadOptions())
        named = f"({row['head']}, {row['relation']}, {row['tail']}), {row['direction']} asked for,"
        if key not in positions:
            raise DataError(f"{where}: {named} is not in the {split} split")
        if filled[key] == len(positions[key]):
            raise DataError(f"{where}: {named} has a rank already")
        # A triple with duplicate rows takes the same rank for all of them until told otherwise.
        for column, number in _numbers(where, row).items():
            values[column][positions[key][filled[key] :]] = number
        filled[key] += 1
    among = candidates or Candidates.of(kg)
    asked = queries.heads, queries.relations, queries.answers
    score, *places = values.values()
    left = among.left(kg.filter_index(split), *asked)
    ranks = Ranks(score, places[0], places[1], places[2], *left)
    _check(path, queries, ranks)
    return RankTable.from_ranks(kg, queries, ranks, among.rule)


def _key(where: str, row: dict[str, Any], kg: KnowledgeGraph, options: ReadOptions) -> Key:
    try:
        head = kg.entities.id(options.name(row["head"]))
        tail = kg.entities.id(options.name(row["tail"]))
        relation = kg.relations.id(options.name(row["relation"]))
    except UnknownNameError as error:
        raise UnknownNameError(f"{where}: {error}") from None
    if row["direction"] not in DIRECTIONS:
        raise DataError(
            f"{where}: direction {row['direction']!r} is neither 'head' nor 'tail' "
            "(the end that was asked for)"
        )
    return head, relation, tail, DIRECTIONS.index(row["direction"])


def _numbers(where: str, row: dict[str, Any]) -> dict[str, float]:
    numbers = {}
    for column in ("rank", *OPTIONAL):
        text = row.get(column)
        if column != "rank" and text in {None, ""}:
            continue
        try:
            number = float(text)  # type: ignore[arg-type]  # a missing rank is the error below
        except (TypeError, ValueError):
            raise DataError(f"{where}: {column} {text!r} is not a number") from None
        if not math.isfinite(number):
            raise DataError(f"{where}: {column} {text!r} is not finite")
        if column != "score" and number < 1:
            raise DataError(f"{where}: {column} {text} is below 1; ranks start at 1")
        numbers[column] = number
    return numbers


def _rows(path: Path) -> Iterator[Row]:
    if path.suffix.lower() in DIALECTS:
        yield from read_table(path, REQUIRED)
        return
    if path.suffix.lower() != ".parquet":
        raise DataError(f"{path}: ranks are read from .parquet, {', '.join(DIALECTS)} files")
    with pa.OSFile(os.fsencode(path)) as file:
        table = read_checked(file, path)
    check_columns(path, table.column_names, REQUIRED)
    columns = [name for name in (*REQUIRED, *OPTIONAL) if name in table.column_names]
    lists = [table.column(name).to_pylist() for name in columns]
    for number, fields in enumerate(zip(*lists, strict=True), start=1):
        yield f"{path}: row {number}", dict(zip(columns, fields, strict=True))


def _check(path: Path, queries: EvalQueries, ranks: Ranks) -> None:
    """Refuse missing ranks; warn of some that filtering does not allow."""
    missing = ranks.rank.isnan().nonzero()[:, 0]
    if len(missing):
        raise DataError(
            f"{path}: {len(missing):,} of {len(queries):,} queries have no rank; "
            f"the first is {queries.describe(int(missing[0]))}"
        )
    beyond = (ranks.rank > ranks.candidates).nonzero()[:, 0]
    if len(beyond):
        first = int(beyond[0])
        _log.warning(
            "%s: %s ranks exceed the number of candidates left after filtering (the first, of %s: "
            "%g of %d). Were they computed without the filter?",
            path,
            f"{len(beyond):,}",
            queries.describe(first),
            ranks.rank[first],
            ranks.candidates[first],
        )
