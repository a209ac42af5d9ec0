"""Parquet: read with every value checked and no thread left behind, written in memory."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dglkgmix.errors import DataError


def read_checked(
    source: Any, where: object, choose: Callable[[pa.Schema], list[str]] | None = None
) -> pa.Table:
    """The table in a path, binary file or Arrow buffer, every value of it checked.

    Codes beyond their dictionary, for one, would be read from beyond it.

    All reading is done by the calling thread. A thread of Arrow's pools may hold the last
    reference to a Python buffer, and frees it after Python has ended, which aborts the process
    with status 134.

    Args:
        source: what to read.
        where: begins the message of an error.
        choose: names the columns to read, in the order wanted, given the schema. None: all.

    Raises:
        DataError: "where: why it cannot be read".
    """
    try:
        file = pq.ParquetFile(source, pre_buffer=False)
        columns = None if choose is None else choose(file.schema_arrow)
        table = file.read(columns, use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: not a readable Parquet file: {error}") from error
    return table if columns is None else table.select(columns)


def packed(table: pa.Table) -> bytes:
    """The table as a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()
