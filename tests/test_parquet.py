from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dglkgmix.errors import DataError
from dglkgmix.parquet import read_checked


def packed(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_a_whole_file_is_read() -> None:
    table = pa.table({"x": ["a", "b"]})
    assert read_checked(io.BytesIO(packed(table))).equals(table)


def test_a_file_that_is_cut_short_is_refused() -> None:
    with pytest.raises(DataError):
        read_checked(io.BytesIO(packed(pa.table({"x": [1, 2]}))[:-5]))


def test_values_are_checked_beside_the_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code beyond its dictionary makes a table that only a full check refuses."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    monkeypatch.setattr(pq, "read_table", lambda source: pa.table({"x": codes}))
    with pytest.raises(DataError):
        read_checked("any")
