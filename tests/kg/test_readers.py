import bz2
import gzip
import io
import lzma
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dglkgmix.errors import DataError, DependencyError
from dglkgmix.kg import ROLES, readers
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.readers import read_parquet, read_rdf, read_triples

ROWS = [("a", "r", "é"), ("b", "r", "NA")]
TSV = "".join("\t".join(row) + "\n" for row in ROWS).encode()


def zstd(raw):
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


def read(path, **options):
    table = read_triples(path, options=ReadOptions(**options))
    return list(zip(*table.columns(), strict=True))


def write(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("form", ["txt", "csv", "parquet", "nt", "ttl"])
def test_every_format_with_every_compression(tmp_path, form, ending):
    expected = ROWS
    made = write(
        tmp_path / "made", **dict(zip(ROLES, map(list, zip(*ROWS, strict=True)), strict=True))
    )
    content = {"txt": TSV, "csv": TSV.replace(b"\t", b",")}.get(form) or made.read_bytes()
    if form in ("nt", "ttl"):
        expected = [("http://x/a", "http://x/r", "http://x/b")]
        content = b"<http://x/a> <http://x/r> <http://x/b> .\n"
    path = tmp_path / f"x.{form}{ending}"
    path.write_bytes(COMPRESS[ending](content))
    assert read(path) == expected


def test_files_of_several_compressed_parts(tmp_path):
    for ending in (".gz", ".bz2", ".xz", ".zst"):
        path = tmp_path / f"x.txt{ending}"
        path.write_bytes(b"".join(COMPRESS[ending](line) for line in TSV.splitlines(keepends=True)))
        assert read(path) == ROWS


def test_a_packed_parquet_file_that_grows_beyond_reason(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet.gz"
    path.write_bytes(gzip.compress(bytes(100_000)))
    monkeypatch.setattr(readers, "UNPACKED", 1000)
    with pytest.raises(DataError, match=r"x\.parquet\.gz: unpacks to more than 20 times its size"):
        read(path)


def test_many_fields_take_little_memory(tmp_path, run_python):
    """Large blocks of nothing took sixty times their size."""
    code = """
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
    for name, content in (
        ("lines.txt", b"\n" * 2**21),
        ("tabs.txt", b"\t" * 2**24),
        ("x.csv", b"x" * 2**24),
        ("q.csv", b'"' * 2**24),
    ):
        paths.append(tmp_path / f"{name}.gz")
        paths[-1].write_bytes(gzip.compress(content, compresslevel=1))
    assert int(run_python(code, *paths).stdout) < 100


def test_format_and_delimiter_beat_the_ending(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text('"a;b";r;c\n')
    assert read(path, format="csv", delimiter=";") == [("a;b", "r", "c")]
    assert read(path, delimiter=";", columns=("_", "head", "relation", "tail")) == [
        ('b"', "r", "c")
    ]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["foreign", "cut", "empty"])
def test_damaged_compressed_files(tmp_path, ending, damage):
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


def test_missing_files_and_folders(tmp_path):
    """Case 47."""
    with pytest.raises(DataError, match="gone: no such file"):
        read(tmp_path / "gone")
    with pytest.raises(DataError, match="a folder, not a file"):
        read(tmp_path)


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", str(path))

    path = tmp_path / "x.txt"
    path.touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"x\.txt: cannot be read: Permission denied"):
        read(path)


def test_utf8_whatever_the_locale(tmp_path, run_python):
    path = tmp_path / "été.txt"
    path.write_bytes(TSV)
    code = """
        import sys
        from dglkgmix.kg.readers import read_triples
        print(ascii(read_triples(sys.argv[1]).columns()))
    """
    done = run_python(code, path, LC_ALL="C", PYTHONCOERCECLOCALE=0, PYTHONUTF8=0)
    assert done.stdout.strip() == ascii(tuple(map(list, zip(*ROWS, strict=True))))


def read_pq(source, **options):
    source = str(source) if isinstance(source, Path) else source
    table = read_parquet(source, "f", ReadOptions(**options))
    return list(zip(*table.columns(), strict=True))


def test_strings_of_every_kind_and_integers(tmp_path):
    path = write(
        tmp_path / "x",
        s=pa.array(["NA", "b\n", "NA"]).dictionary_encode(),
        p=pa.array([7, -1, 7], pa.int8()),
        o=pa.array([2**64 - 1, 0, 1], pa.uint64()),
    )
    assert read_pq(path) == [("NA", "7", f"{2**64 - 1}"), ("b\n", "-1", "0"), ("NA", "7", "1")]
    nothing = pa.array([], pa.string())
    assert read_pq(write(path, head=nothing, relation=nothing, tail=nothing)) == []


def test_columns_by_name_and_by_place(tmp_path):
    path, (a, b, c) = tmp_path / "x", (pa.array([name]) for name in "abc")
    nested = pa.array([{"u": 1, "v": 2}])
    assert read_pq(write(path, tail=b, x=nested, head=a, relation=c)) == [("a", "c", "b")]
    write(path, o=b, p=c, s=a)
    assert read_pq(path, columns=("s", "p", "o")) == [("a", "c", "b")]
    assert read_pq(path, columns=("tail", "relation", "head")) == [("a", "c", "b")]
    with pytest.raises(DataError, match="cannot tell"):
        read_pq(write(path, a=a, b=b))
    pq.write_table(pa.table([a, a, a], names=["x", "x", "y"]), path)
    with pytest.raises(DataError, match="f: several columns are named 'x'"):
        read_pq(path)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (pa.array(["x", None]), "f:2: the relation is null"),
        (pa.array([1, None]), "f:2: the relation is null"),
        (pa.array(["x", ""]), "f:2: the relation is empty"),
        (pa.array(["x", ""], pa.large_string()), "f:2: the relation is empty"),
        (pa.array([0.5, 1.0]), "holds double, but names are strings or integers"),
        (pa.array([["x"], ["y"]]), "holds list"),
        (pa.array([True, False]), "holds bool"),
        (pa.array([b"\xff", b"x"]).view(pa.string()), "f: not a readable Parquet file: .*UTF8"),
    ],
)
def test_values_that_are_no_names(tmp_path, values, what):
    names = pa.array(["a", "b"])
    with pytest.raises(DataError, match=what):
        read_pq(write(tmp_path / "x", head=names, relation=values, tail=names))


def read_turtle(text, form="turtle", name="f.ttl"):
    return list(zip(*read_rdf(io.BytesIO(text), name, form).columns(), strict=True))


def test_iris_blank_nodes_and_literals_have_distinct_names():
    text = (
        b"\xef\xbb\xbf<http://x/a> <http://x/p> _:b1 .\n# remark\n\n"
        b'_:b1 <http://x/q> "v\\t\\"w\\""@en .\n'
        b'<http://x/a> <http://x/q> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    )
    assert read_turtle(text) == [
        ("http://x/a", "http://x/p", "_:b1"),
        ("_:b1", "http://x/q", '"v\\t\\"w\\""@en'),
        ("http://x/a", "http://x/q", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ]


def test_turtle_with_nodes_without_a_label():
    text = b"@prefix : <http://x/> .\n:a :p [ :q :c ] , [ :q :d ] .\n:a a :T .\n"
    rows = read_turtle(text, "turtle", "folder/train.ttl.gz")
    assert set(rows) == {
        ("http://x/a", "http://x/p", "_:[train.ttl:1]"),
        ("_:[train.ttl:1]", "http://x/q", "http://x/c"),
        ("http://x/a", "http://x/p", "_:[train.ttl:2]"),
        ("_:[train.ttl:2]", "http://x/q", "http://x/d"),
        ("http://x/a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://x/T"),
    }
    assert read_turtle(text, "turtle", "folder/train.ttl.gz") == rows


def entities(*files):
    rows = [
        row
        for name, text in files
        for row in read_turtle(b"@prefix : <x:> .\n" + text, "turtle", name)
    ]
    return {name for head, _, tail in rows for name in (head, tail)}


def test_a_written_label_is_one_node_and_a_node_without_one_meets_no_other():
    """Case 52: labels that look generated, and labels that look as generated nodes are named."""
    hexadecimal = b"_:b1946ac92492d2347c6235b4d2611184"
    files = [("train.ttl", b":a :p " + hexadecimal), ("test.ttl", hexadecimal + b" :p :c")]
    found = entities(*((name, text + b" .") for name, text in files))
    assert found == {"x:a", hexadecimal.decode(), "x:c"}
    found = entities(("one.ttl", b":a :p [ :q :b ] . _:one.1 :q :c ."))
    assert found == {"x:a", "_:[one.ttl:1]", "x:b", "_:one.1", "x:c"}
    assert len(entities(("train.ttl", b"[] :p :a ."), ("test.ttl", b"[] :p :a ."))) == 3
    numbers = entities(("one.ttl", b":a :p (:b :c) ."))
    assert {name for name in numbers if name.startswith("_:")} == {"_:[one.ttl:1]", "_:[one.ttl:2]"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"<http://x/a> <http://x/p> <http://x/b> .\n\n<http://x/a> .\n", r"f\.ttl:3: .*column"),
        (b'<http://x/a> <http://x/p> "\xff" .', r"f\.ttl:1: .*UTF-8"),
        (b"<a> <b> <c> .", r"f\.ttl:1: .*IRI"),
        (b"a\tb\tc\n", r"f\.ttl:1: "),
    ],
)
def test_faults_are_named(text, message):
    with pytest.raises(DataError, match=message):
        read_turtle(text)


def test_without_pyoxigraph(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(DependencyError, match=r"pip install 'dglkgmix\[rdf\]'"):
        read_turtle(b"")


NAMES = ["x.txt", "x.csv", "x.txt.gz", "x.txt.xz", "x.txt.zst", "x.parquet.gz", "x.ttl.zst"]
NAMES += ["x.parquet", "x.nt", "x.ttl"]
RDF = [b"<http://x/a> ", b"_:b ", b'"v" ', b".\n", b"@prefix ", b": ", b"[ ", b"] ", b"\xff"]
raw = st.binary(max_size=80) | st.lists(st.sampled_from(RDF), max_size=12).map(b"".join)


@given(st.sampled_from(NAMES), raw, st.integers(0, 300), st.binary(max_size=4))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_gives_a_table_or_a_data_error(tmp_path, name, raw, at, patch):
    path = tmp_path / name
    whole = COMPRESS.get(path.suffix, bytes)(TSV)
    if path.suffix == ".parquet":
        whole = write(path, head=["a", "b"], relation=["r", "r"], tail=["b", "c"]).read_bytes()
    at %= len(whole)
    for content in (raw, b"PAR1" + raw + b"PAR1", whole[:at] + patch + whole[at + len(patch) :]):
        path.write_bytes(content)
        assert is_table_or_data_error(path)


def is_table_or_data_error(path):
    try:
        rows = read(path)
    except DataError as error:
        return str(error).startswith(str(path))
    return all(len(row) == 3 and all(row) for row in rows)
