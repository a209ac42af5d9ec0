from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dglkgmix.errors import DataError
from dglkgmix.kg import readers
from dglkgmix.kg.readers import ReadOptions, read_triples

ROWS = [("a", "r", "é"), ("b", "r", "NA")]
TSV = "".join("\t".join(row) + "\n" for row in ROWS).encode()


def zstd(raw: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(raw)
    return bytes(sink.getvalue())


COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
}


def read(path: Path, **options: object) -> list[tuple[str, str, str]]:
    table = read_triples(path, options=ReadOptions(**options))  # type: ignore[arg-type]
    return list(zip(*table.columns(), strict=True))


def parquet(folder: Path) -> bytes:
    columns = dict(
        zip(("head", "relation", "tail"), map(list, zip(*ROWS, strict=True)), strict=True)
    )
    pq.write_table(pa.table(columns), folder / "made")
    return (folder / "made").read_bytes()


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("form", ["txt", "csv", "parquet", "nt", "ttl"])
def test_every_format_with_every_compression(tmp_path: Path, form: str, ending: str) -> None:
    expected = ROWS
    content = {"txt": TSV, "csv": TSV.replace(b"\t", b",")}.get(form) or parquet(tmp_path)
    if form in ("nt", "ttl"):
        expected = [("http://x/a", "http://x/r", "http://x/b")]
        content = b"<http://x/a> <http://x/r> <http://x/b> .\n"
    path = tmp_path / f"x.{form}{ending}"
    path.write_bytes(COMPRESS[ending](content))
    assert read(path) == expected


def test_files_of_several_compressed_parts(tmp_path: Path) -> None:
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        path = tmp_path / f"x.txt{ending}"
        path.write_bytes(b"".join(COMPRESS[ending](line) for line in TSV.splitlines(keepends=True)))
        assert read(path) == ROWS


def test_a_packed_parquet_file_that_grows_beyond_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.parquet.gz"
    path.write_bytes(gzip.compress(bytes(100_000)))
    monkeypatch.setattr(readers, "UNPACKED", 1000)
    with pytest.raises(DataError, match=r"x\.parquet\.gz: unpacks to more than 20 times its size"):
        read(path)


def test_many_fields_take_little_memory(tmp_path: Path) -> None:
    """Sixteen megabytes of nothing took a gigabyte when blocks were large."""
    code = """if True:
        import resource, sys
        from dglkgmix.errors import DataError
        from dglkgmix.kg.readers import read_triples
        used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        before = used()
        for path in sys.argv[1:]:
            try:
                read_triples(path)
            except DataError as error:
                assert str(error).startswith(f"{path}:1: "), error
        print(used() - before)
    """
    paths = []
    for name, letter in (
        ("lines.txt", b"\n"),
        ("tabs.txt", b"\t"),
        ("x.csv", b"x"),
        ("q.csv", b'"'),
    ):
        paths.append(tmp_path / f"{name}.gz")
        paths[-1].write_bytes(gzip.compress(letter * 2**24, compresslevel=1))
    command = [sys.executable, "-c", code, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200


def test_format_and_delimiter_beat_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text('"a;b";r;c\n')
    assert read(path, format="csv", delimiter=";") == [("a;b", "r", "c")]
    assert read(path, delimiter=";", columns=("_", "head", "relation", "tail")) == [
        ('b"', "r", "c")
    ]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["foreign", "cut", "empty"])
def test_damaged_compressed_files(tmp_path: Path, ending: str, damage: str) -> None:
    whole = COMPRESS[ending](TSV * 1000)
    content = {"foreign": b"plain text\n", "cut": whole[: len(whole) // 2], "empty": b""}[damage]
    path = tmp_path / f"x.txt{ending}"
    path.write_bytes(content)
    if damage == "empty" and ending in (".gz", ".zst"):
        # Nothing at all is a valid file of these formats with nothing in it.
        assert read(path) == []
        return
    with pytest.raises(DataError, match=r"x\.txt\.\w+: cannot be read"):
        read(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    """Case 47."""
    with pytest.raises(DataError, match="gone: no such file"):
        read(tmp_path / "gone")
    with pytest.raises(DataError, match="a folder, not a file"):
        read(tmp_path)


def test_files_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    path = tmp_path / "x.txt"
    path.touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"x\.txt: cannot be read: Permission denied"):
        read(path)


def test_utf8_whatever_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "été.txt"
    path.write_bytes(TSV)
    code = (
        "import sys\n"
        "from dglkgmix.kg.readers import read_triples\n"
        "print(ascii(read_triples(sys.argv[1]).columns()))"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code, path],
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ascii(tuple(map(list, zip(*ROWS, strict=True))))


NAMES = ["x.txt", "x.csv", "x.txt.gz", "x.txt.xz", "x.txt.zst", "x.parquet.gz", "x.ttl.zst"]


@given(st.sampled_from(NAMES), st.binary(max_size=60), st.integers(0, 40), st.binary(max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_gives_a_table_or_a_data_error(
    tmp_path: Path, name: str, raw: bytes, at: int, patch: bytes
) -> None:
    path = tmp_path / name
    whole = COMPRESS.get(path.suffix, bytes)(TSV)
    for content in (raw, whole[:at] + patch + whole[at + len(patch) :]):
        path.write_bytes(content)
        assert is_table_or_data_error(path)


def is_table_or_data_error(path: Path) -> bool:
    try:
        rows = read(path)
    except DataError as error:
        return str(error).startswith(str(path))
    return all(len(row) == 3 and all(row) for row in rows)
