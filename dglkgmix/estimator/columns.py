"""Columns of names out of what scikit-learn's users pass as X, and names as ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from dglkgmix.errors import DataError

Array = np.ndarray[Any, np.dtype[Any]]
ROLES = ("head", "relation", "tail")


def split_columns(X: Any, widths: tuple[int, ...]) -> list[Array]:
    """The columns of X, (n, 2) or (n, 3), each as int64 or as an object array of strings.

    Columns of a DataFrame keep their own kinds. Nothing is converted: a float is refused, even a
    whole one, as ``1.0`` and ``1`` would be two names.

    Raises:
        DataError: another shape, or a value that is neither a string nor an integer.
    """
    if hasattr(X, "iloc"):
        columns = [X.iloc[:, i].to_numpy() for i in range(X.shape[1])]
    else:
        rows = _two_dimensional(X)
        columns = [rows[:, i] for i in range(rows.shape[1])]
    if len(columns) not in widths:
        wanted = " or ".join(str(width) for width in widths)
        raise DataError(
            f"X has {len(columns)} feature(s) (shape=({_length(X)}, {len(columns)})) while a "
            f"minimum of {widths[0]} is required: {wanted} columns, head, relation and then tail"
        )
    return [_named(column, role) for column, role in zip(columns, ROLES, strict=False)]


def as_column(y: Any) -> Array:
    """Tails (n,) as int64 or strings.

    Raises:
        DataError: another shape or kind.
    """
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"y must be one column of tails, not an array of shape {values.shape}")
    return _named(values, "tail")


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


def as_weights(sample_weight: Any, count: int) -> Array:
    """Weights (count,) as float64.

    Raises:
        DataError: another shape, a negative or infinite weight, or nothing but zeros.
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (count,):
        raise DataError(f"sample_weight must have the shape ({count},), not {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative")
    if not weights.any():
        raise DataError("sample_weight: all weights are zero, so there is nothing to learn from")
    return weights


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _two_dimensional(X: Any) -> Array:
    if hasattr(X, "tocoo"):
        raise DataError("X is a sparse matrix: dense data is required, rows of three names")
    try:
        rows = np.asarray(X)
    except ValueError as error:
        raise DataError(f"X is no table of triples: {error}") from None
    if rows.dtype.kind == "c":
        raise DataError("Complex data not supported: names are strings or integers")
    if rows.ndim != 2:
        raise DataError(
            f"X must be 2-dimensional, rows of head, relation and tail; it has the shape "
            f"{rows.shape}. Reshape one triple with [triple]"
        )
    return rows


def _named(column: Array, role: str) -> Array:
    if column.dtype.kind in "iu":
        return column.astype(np.int64)
    if column.dtype.kind == "U":
        return column.astype(object)
    if column.dtype.kind != "O" and not hasattr(column, "categories"):
        raise DataError(
            f"{role}s must be strings or integers, not {column.dtype}: convert them, so that it "
            "is plain which name each is"
        )
    return _objects(np.asarray(column, dtype=object), role)


def _objects(column: Array, role: str) -> Array:
    """All strings, or all integers."""
    if all(isinstance(value, str) for value in column):
        return column
    whole = (int, np.integer)
    if all(isinstance(value, whole) and not isinstance(value, bool) for value in column):
        return column.astype(np.int64)
    kinds = (str,) if isinstance(column[0], str) else whole
    row = next(i for i, v in enumerate(column) if not isinstance(v, kinds) or isinstance(v, bool))
    raise DataError(
        f"row {row}: {role} {column[row]!r} is a {type(column[row]).__name__}; every {role} must "
        "be a string, or every one an integer"
    )


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

    def strings(self) -> list[str]:
        """As a vocabulary holds them."""
        return [str(value) for value in self.values]
