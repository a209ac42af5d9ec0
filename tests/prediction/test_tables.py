from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest

from dglkgmix.errors import ConfigError
from dglkgmix.prediction import tables
from dglkgmix.prediction.tables import ENDINGS, check_ending, write_rows

TYPES = {"name": str, "count": int, "share": float, "known": bool}
ROWS = [
    {"name": "a", "count": 1, "share": 0.5, "known": True},
    {"name": "=b", "count": None, "share": None, "known": False},
    {"name": "c", "count": 3, "share": 1e-9, "known": None},
]


def test_parquet_keeps_types_and_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_GROUP", 2)
    write_rows(tmp_path / "rows.parquet", iter(ROWS), TYPES)
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.to_pylist() == ROWS
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "double", "bool"]
    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 2


def test_text_leaves_what_is_missing_empty(tmp_path):
    for ending, delimiter, name in (("csv", ",", "'=b"), ("tsv", "\t", "=b")):
        path = tmp_path / f"rows.{ending}"
        write_rows(path, iter(ROWS), TYPES)
        with path.open(newline="") as file:
            found = list(csv.DictReader(file, delimiter=delimiter))
        assert list(found[0].values()) == ["a", "1", "0.5", "True"]
        assert list(found[1].values()) == [name, "", "", "False"]


def test_lines_of_json_are_rows_or_other_objects(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_rows(path, iter(ROWS), TYPES)
    assert [json.loads(line) for line in path.read_text().splitlines()] == ROWS
    write_rows(path, iter(ROWS), TYPES, [{"é": 1}])
    assert path.read_text(encoding="utf-8") == '{"é": 1}\n'
    write_rows(path, iter(ROWS), TYPES, [])
    assert path.read_text() == ""


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_whole_or_as_it_was(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    path.write_text("before")

    def failing():
        yield ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(path, failing(), TYPES)
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"rows.xlsx: .*\.csv, \.tsv, \.jsonl, \.parquet"):
        check_ending(tmp_path / "rows.xlsx")
