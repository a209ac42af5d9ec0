from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dglkgmix.errors import DataError
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.readers_parquet import read_parquet


def write(folder: Path, **columns: pa.Array) -> str:
    path = folder / "x.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def read(source: object, **options: object) -> list[tuple[str, str, str]]:
    table = read_parquet(source, "f", ReadOptions(**options))  # type: ignore[arg-type]
    return list(zip(*table.columns(), strict=True))


def test_strings_of_every_kind_and_integers(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        s=pa.array(["NA", "b\n", "NA"]).dictionary_encode(),
        p=pa.array([7, -1, 7], pa.int8()),
        o=pa.array(["", "x", "y"], pa.large_string()).fill_null("").slice(0),
    )
    with pytest.raises(DataError, match="f:1: the tail is empty"):
        read(path)
    path = write(
        tmp_path,
        s=pa.array(["NA", "b\n", "NA"]).dictionary_encode(),
        p=pa.array([7, -1, 7], pa.int8()),
        o=pa.array([2**64 - 1, 0, 1], pa.uint64()),
    )
    assert read(path) == [
        ("NA", "7", "18446744073709551615"),
        ("b\n", "-1", "0"),
        ("NA", "7", "1"),
    ]


def test_columns_by_name_and_by_place(tmp_path: Path) -> None:
    a, b, c = (pa.array([name]) for name in "abc")
    assert read(write(tmp_path, tail=b, x=c, head=a, relation=c)) == [("a", "c", "b")]
    path = write(tmp_path, o=b, p=c, s=a)
    assert read(path, columns=("s", "p", "o")) == [("a", "c", "b")]
    assert read(path, columns=("tail", "relation", "head")) == [("a", "c", "b")]
    with pytest.raises(DataError, match="cannot tell"):
        read(write(tmp_path, a=a, b=b))


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array(["x", None]), "f:2: the relation is null"),
        (pa.array([1, None]), "f:2: the relation is null"),
        (pa.array(["x", ""]), "f:2: the relation is empty"),
        (pa.array([0.5, 1.0]), "holds double, but names are strings or integers"),
        (pa.array([["x"], ["y"]]), "holds list"),
        (pa.array([True, False]), "holds bool"),
    ],
)
def test_values_that_are_no_names(tmp_path: Path, values: pa.Array, what: str) -> None:
    names = pa.array(["a", "b"])
    with pytest.raises(DataError, match=what):
        read(write(tmp_path, head=names, relation=values, tail=names))


def test_invalid_utf8_and_columns_of_one_name(tmp_path: Path) -> None:
    a = pa.array(["a"])
    bad = pa.array([b"\xff"]).view(pa.string())
    with pytest.raises(DataError, match=r"f: not a readable Parquet file: .*UTF8"):
        read(write(tmp_path, head=a, relation=bad, tail=a))
    pq.write_table(pa.table([a, a, a], names=["x", "x", "y"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="f: several columns are named 'x'"):
        read(str(tmp_path / "x.parquet"))


def test_no_rows(tmp_path: Path) -> None:
    nothing = pa.array([], pa.string())
    assert read(write(tmp_path, head=nothing, relation=nothing, tail=nothing)) == []


def test_nested_columns_beside_the_triple(tmp_path: Path) -> None:
    a = pa.array(["a"])
    path = write(tmp_path, extra=pa.array([{"u": 1, "v": 2}]), head=a, relation=a, tail=a)
    assert read(path) == [("a", "a", "a")]


@given(st.binary(max_size=80), st.integers(0, 300), st.binary(max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_a_table_or_a_data_error(
    tmp_path: Path, raw: bytes, at: int, patch: bytes
) -> None:
    names = pa.array(["a", "b"])
    whole = Path(write(tmp_path, head=names, relation=names, tail=names)).read_bytes()
    at %= len(whole)
    for content in (raw, b"PAR1" + raw + b"PAR1", whole[:at] + patch + whole[at + len(patch) :]):
        assert is_table_or_data_error(content)


def is_table_or_data_error(content: bytes) -> bool:
    try:
        rows = read(pa.py_buffer(content))
    except DataError:
        return True
    return all(len(row) == 3 for row in rows)
