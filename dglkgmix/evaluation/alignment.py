"""Rank tables of several runs, brought into one order query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dglkgmix.errors import DataError
from dglkgmix.evaluation.rank_table import DEGREES, NAMES, RankTable

Array = np.ndarray[Any, Any]


def align(tables: Sequence[RankTable], labels: Sequence[str] | None = None) -> list[RankTable]:
    """The tables sorted by (head, relation, tail, direction), row for row the same query.

    Raises:
        DataError: the runs rank different queries, or their degrees or filters differ: they come
            from different data; or their candidates were chosen by different rules.
    """
    labels = labels or [f"run {i + 1}" for i in range(len(tables))]
    first = tables[0]
    keys = _keys(first, first)
    order = np.lexsort(keys[::-1])
    expected, aligned = keys[:, order], [first.select(order)]
    for table, label in zip(tables[1:], labels[1:], strict=True):
        other_keys = _keys(table, first)
        other_order = np.lexsort(other_keys[::-1])
        found = table.select(other_order)
        _check(aligned[0], expected, found, other_keys[:, other_order], (labels[0], label))
        aligned.append(found)
    return aligned


def triples(table: RankTable) -> Array:
    """(Q,) int64: the triple of each query, 0 … T − 1; both its queries share one."""
    return table.codes(("head", "relation", "tail"))


def _keys(table: RankTable, reference: RankTable) -> Array:
    """(4, Q) int64 codes of the name columns in the reference's dictionaries, −1 where missing."""
    rows = []
    for column in NAMES:
        own, wanted = table.names(column), reference.names(column).dictionary
        translated = pc.fill_null(pc.index_in(own.dictionary, wanted), -1).to_numpy()
        rows.append(translated[own.indices.to_numpy()].astype(np.int64))
    return np.stack(rows)


def _check(
    first: RankTable,
    first_keys: Array,
    other: RankTable,
    other_keys: Array,
    labels: tuple[str, str],
) -> None:
    both = f"{labels[0]} and {labels[1]}"
    rules = first.rule, other.rule
    if None not in rules and rules[0] != rules[1]:
        raise DataError(
            f"{both} were ranked among different candidates, {rules[0]!r} and {rules[1]!r}: "
            "evaluate both with the same --candidates"
        )
    if len(first) != len(other):
        raise DataError(
            f"{both} were evaluated on different data: {len(first):,} and {len(other):,} queries"
        )
    different = (first_keys != other_keys).any(0)
    if different.any():
        raise DataError(
            f"{both} were evaluated on different data: they do not rank the same queries "
            f"({_describe(other, int(np.flatnonzero(different)[0]))} is one of the second only)"
        )
    for column in ("candidates", *DEGREES):
        different = first[column] != other[column]
        if different.any():
            row = int(np.flatnonzero(different)[0])
            raise DataError(
                f"{both} come from different data: {column} of {_describe(first, row)} is "
                f"{first[column][row]} and {other[column][row]}"
            )


def _describe(table: RankTable, row: int) -> str:
    head, relation, tail, direction = (table.table.column(n)[row].as_py() for n in NAMES)
    return f"({head}, {relation}, {tail}), {direction} asked for"
