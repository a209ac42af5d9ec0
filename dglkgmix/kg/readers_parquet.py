"""Triples from Parquet: three columns of strings or integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dglkgmix.errors import DataError
from dglkgmix.kg.options import ReadOptions, choose_columns
from dglkgmix.kg.tables import ROLES, Codes, TripleTable, unify
from dglkgmix.parquet import read_checked


def read_parquet(source: Any, name: str, options: ReadOptions) -> TripleTable:
    """All rows of a Parquet file; integers become their decimal digits.

    ``source`` is an open file or an Arrow buffer.

    Raises:
        DataError: "name: what", or "name:row: what" with rows counted from 1, for a null or an
            empty string.
    """
    table = read_checked(source, name, lambda schema: _columns(schema, name, options))
    encoded = [_encode(c, role, name) for c, role in zip(table.columns, ROLES, strict=True)]
    names, codes = unify([part[0] for part in encoded], [part[1] for part in encoded])
    return TripleTable(names, np.stack(codes, 1))


def _columns(schema: pa.Schema, name: str, options: ReadOptions) -> list[str]:
    """The columns of heads, relations and tails, their types checked."""
    _, positions = choose_columns(options.columns, schema.names, name)
    fields = [schema.field(at) for at in positions]
    for role, field in zip(ROLES, fields, strict=True):
        _check_type(field, role, name)
        if schema.names.count(field.name) > 1:
            raise DataError(f"{name}: several columns are named {field.name!r}")
    return [field.name for field in fields]


def _check_type(field: pa.Field, role: str, name: str) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if not (_is_string(kind) or pa.types.is_integer(kind)):
        raise DataError(
            f"{name}: the column {field.name!r} for the {role} holds {field.type}, "
            "but names are strings or integers"
        )


def _is_string(kind: pa.DataType) -> bool:
    views = pa.types.is_string_view(kind) if hasattr(pa.types, "is_string_view") else False
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or views)


def _encode(column: pa.ChunkedArray, role: str, name: str) -> tuple[pa.Array, Codes]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = column.cast(pa.large_string())
    # A null counts as bad, too; what is bad is rare, so its place is looked up afterwards.
    bad = pc.fill_null(pc.equal(pc.binary_length(texts), 0), True)
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        what = "null" if texts[row].as_py() is None else "empty"
        raise DataError(f"{name}:{row + 1}: the {role} is {what}")
    encoded = texts.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
