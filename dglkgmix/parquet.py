"""Parquet that may be damaged or forged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dglkgmix.errors import DataError


def read_checked(source: Any) -> pa.Table:
    """The table in a path or binary file, every value of it checked.

    Codes beyond their dictionary, for one, would be read from beyond it.

    Raises:
        DataError: why it cannot be read; where is for the caller to say.
    """
    try:
        table = pq.read_table(source)
        table.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(str(error)) from error
    return table
