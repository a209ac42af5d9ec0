import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dglkgmix.errors import DataError
from dglkgmix.parquet import packed, read_checked


def test_a_whole_file_is_read():
    table = pa.table({"x": ["a", "b"], "y": [1, 2]})
    assert read_checked(pa.py_buffer(packed(table)), "f").equals(table)
    chosen = read_checked(io.BytesIO(packed(table)), "f", lambda schema: schema.names[::-1])
    assert chosen.equals(table.select(["y", "x"]))


def test_a_file_that_is_cut_short_is_refused():
    with pytest.raises(DataError, match="f: not a readable Parquet file"):
        read_checked(io.BytesIO(packed(pa.table({"x": [1, 2]}))[:-5]), "f")


def test_values_are_checked_beside_the_structure(monkeypatch):
    """A code beyond its dictionary makes a table that only a full check refuses."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *args, **options: pa.table({"x": codes}))
    with pytest.raises(DataError):
        read_checked(io.BytesIO(packed(pa.table({"x": ["a"]}))), "f")


def test_no_thread_is_started(tmp_path, run_python):
    """Such a thread may free a Python buffer while the interpreter ends: status 134."""
    path = tmp_path / "x.parquet"
    path.write_bytes(packed(pa.table({"x": ["a"] * 50_000, "y": range(50_000)})))
    code = """
        import os, sys
        from pathlib import Path
        import pyarrow as pa
        from dglkgmix.parquet import read_checked
        path = Path(sys.argv[1])
        threads = set(os.listdir("/proc/self/task"))
        for source in (path, pa.py_buffer(path.read_bytes()), path.open("rb")):
            read_checked(source, path)
            read_checked(source, path, lambda schema: ["y"])
        print(len(set(os.listdir("/proc/self/task")) - threads))
    """
    assert run_python(code, path).stdout == "0\n"
