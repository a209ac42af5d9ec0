"""Columns of names out of what scikit-learn's users pass as X, and names as ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dglkgmix.errors import DataError
from dglkgmix.kg import ROLES

Array = np.ndarray[Any, np.dtype[Any]]


def split_columns(X: Any, widths: tuple[int, ...]) -> list[Array]:
    """The columns of X, (n, 2) or (n, 3), each as int64 or as an object array of strings.

    Columns of a DataFrame keep their own kinds, and a list is what an object array of it is: its
    integers stay integers. Nothing is converted: a float is refused, even a whole one, as ``1.0``
    and ``1`` would be two names.

    Raises:
        DataError: another shape, a missing value, an empty name, one that UTF-8 cannot express, or
            one that is neither a string nor an integer; the message names row and column, both
            counted from 0.
    """
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, i].to_numpy() for i in range(X.shape[1])]
    else:
        rows = _two_dimensional(X)
        columns = [rows[:, i] for i in range(rows.shape[1])]
    if len(columns) not in widths:
        wanted = " or ".join(str(width) for width in widths)
        needs = wanted
        if len(columns) < min(widths):
            needs = f"a minimum of {min(widths)}"
        elif len(columns) > max(widths):
            needs = f"a maximum of {max(widths)}"
        raise DataError(
            f"X has {len(columns)} feature(s) (shape=({len(X)}, {len(columns)})) while {needs} is "
            f"required: {wanted} columns, head, relation and then tail"
        )
    return [
        _named(column, f"column {place} ({role})")
        for place, (column, role) in enumerate(zip(columns, ROLES, strict=False))
    ]


def as_column(y: Any) -> Array:
    """Tails (n,) as int64 or strings.

    Raises:
        DataError: another shape, a missing value, or another kind.
    """
    values = y.to_numpy() if hasattr(y, "to_numpy") else _array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"y must be one column of tails, not an array of shape {values.shape}")
    return _named(values, "y (tail)")


def with_tails(columns: list[Array], y: Any) -> list[Array]:
    """Three columns: X's own, or X's two and y.

    Raises:
        DataError: tails twice, not at all, or not as many as rows.
    """
    if len(columns) == 3:
        if y is not None:
            raise DataError("X has three columns, tails among them: leave y out")
        return columns
    if y is None:
        raise DataError("X has two columns, head and relation: pass the tails as y")
    tails = as_column(y)
    if len(tails) != len(columns[0]):
        raise DataError(f"X has {len(columns[0])} rows and y {len(tails)}: they must be as many")
    return [*columns, tails]


def _array(values: Any) -> Array:
    """Arrays as they are; NumPy would turn the numbers and gaps of a list into text."""
    if isinstance(values, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(values)
        filled: Array = values.data.astype(object)
        filled[missing] = None
        return filled
    return np.asarray(values, dtype=None if hasattr(values, "__array__") else object)


def _two_dimensional(X: Any) -> Array:
    if hasattr(X, "tocoo"):
        raise DataError("X is a sparse matrix: dense data is required, rows of three names")
    try:
        rows = _array(X)
    except ValueError as error:
        raise DataError(f"X is no table of triples: {error}") from None
    if rows.dtype.kind == "c":
        raise DataError("Complex data not supported: names are strings or integers")
    if rows.ndim == 1 and len(rows) and isinstance(rows[0], list | tuple):
        width = len(rows[0])
        place = next(i for i, row in enumerate(rows) if np.size(row) != width)
        raise DataError(f"X: row {place} has not the {width} columns of row 0")
    if rows.ndim != 2:
        raise DataError(
            f"X must be 2-dimensional, rows of head, relation and tail; this {type(X).__name__} "
            f"has the shape {rows.shape}. Reshape one triple with [triple]"
        )
    return rows


def _named(column: Array, where: str) -> Array:
    """All strings, or all integers."""
    if column.dtype.kind in "iu" and (column.dtype != np.uint64 or (column < 2**63).all()):
        return column.astype(np.int64)
    values = np.asarray(column, dtype=object)
    missing = pd.isna(values)
    if missing.any():
        row = int(missing.argmax())
        raise DataError(
            f"row {row}, {where}: a missing value ({values[row]!r}): leave such rows out"
        )
    kinds = (str,) if len(values) and isinstance(values[0], str) else (int, np.integer)
    for row, value in enumerate(values):
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise DataError(
                f"row {row}, {where}: {value!r} is a {type(value).__name__}; names must all be "
                "strings or integers, of one kind in a column: convert them"
            )
    if kinds == (str,):
        for row, value in enumerate(values):
            if not value or (not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value)):
                what = f"{value!r} cannot be written as UTF-8" if value else "an empty name"
                raise DataError(f"row {row}, {where}: {what}: leave such rows out or mend the name")
        return values
    try:
        return values.astype(np.int64)
    except OverflowError:
        raise DataError(f"{where}: an integer beyond 64 bits: pass such names as strings") from None


class Names:
    """Distinct names; ids are their positions. ``values`` is an (N,) array."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self._order = np.argsort(values)

    @classmethod
    def of(cls, *columns: Array, what: str) -> Names:
        """The distinct values of some columns, ascending.

        Raises:
            DataError: strings in one column and integers in another.
        """
        if len({column.dtype.kind for column in columns}) > 1:
            raise DataError(f"{what} must all be strings or all integers, in heads and in tails")
        return cls(np.unique(np.concatenate(columns)))

    def __len__(self) -> int:
        return len(self.values)

    def ids(self, column: Array) -> Array:
        """Ids (n,) int64; -1 for names that are not among these."""
        if column.dtype.kind != self.values.dtype.kind:
            return np.full(len(column), -1)
        places = np.searchsorted(self.values, column, sorter=self._order)
        ids = self._order[places.clip(max=len(self.values) - 1)]
        return np.where(self.values[ids] == column, ids, -1)

    @classmethod
    def stored(cls, names: Iterable[str], kind: str) -> Names:
        """The names of a vocabulary as what they were: ``kind`` is "strings" or "integers"."""
        if kind == "integers":
            return cls(np.array([int(name) for name in names], dtype=np.int64))
        return cls(np.array(list(names), dtype=object))

    @property
    def kind(self) -> str:
        """What the names are: "strings" or "integers"."""
        return "integers" if self.values.dtype.kind == "i" else "strings"

    def strings(self) -> list[str]:
        """As a vocabulary holds them."""
        return [str(value) for value in self.values]


def ids_of(columns: list[Array], entities: Names, relations: Names) -> Array:
    """(n, 2 or 3) ids of heads, relations and perhaps tails; -1 for other names."""
    pairs = zip((entities, relations, entities), columns, strict=False)
    return np.stack([names.ids(column) for names, column in pairs], 1)
