from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglkgmix.errors import DataError, DependencyError
from dglkgmix.kg.readers_rdf import read_rdf


def read(text: bytes, form: str = "ntriples", name: str = "f.ttl") -> list[tuple[str, str, str]]:
    return list(zip(*read_rdf(io.BytesIO(text), name, form).columns(), strict=True))


def test_iris_blank_nodes_and_literals_have_distinct_names() -> None:
    text = (
        b"\xef\xbb\xbf<http://x/a> <http://x/p> _:b1 .\n# remark\n\n"
        b'_:b1 <http://x/q> "v\\t\\"w\\""@en .\n'
        b'<http://x/a> <http://x/q> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .'
    )
    assert read(text) == [
        ("http://x/a", "http://x/p", "_:b1"),
        ("_:b1", "http://x/q", '"v\\t\\"w\\""@en'),
        ("http://x/a", "http://x/q", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ]


def test_turtle_with_nodes_without_a_label() -> None:
    text = b"@prefix : <http://x/> .\n:a :p [ :q :c ] , [ :q :d ] .\n:a a :T .\n"
    rows = read(text, "turtle", "folder/train.ttl.gz")
    assert set(rows) == {
        ("http://x/a", "http://x/p", "_:[train.ttl:1]"),
        ("_:[train.ttl:1]", "http://x/q", "http://x/c"),
        ("http://x/a", "http://x/p", "_:[train.ttl:2]"),
        ("_:[train.ttl:2]", "http://x/q", "http://x/d"),
        ("http://x/a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://x/T"),
    }
    assert read(text, "turtle", "folder/train.ttl.gz") == rows


def entities(*files: tuple[str, bytes]) -> set[str]:
    rows = [
        row for name, text in files for row in read(b"@prefix : <x:> .\n" + text, "turtle", name)
    ]
    return {name for head, _, tail in rows for name in (head, tail)}


def test_a_written_label_is_one_node_and_a_node_without_one_meets_no_other() -> None:
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
def test_faults_are_named(text: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)


def test_without_pyoxigraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(DependencyError, match=r"pip install 'dglkgmix\[rdf\]'"):
        read(b"")


ALPHABET = [b"<http://x/a> ", b"_:b ", b'"v" ', b".\n", b"@prefix ", b": ", b"[ ", b"] ", b"\xff"]


@given(st.lists(st.sampled_from(ALPHABET), max_size=12).map(b"".join) | st.binary(max_size=40))
def test_any_bytes_give_a_table_or_a_data_error(text: bytes) -> None:
    for form in ("ntriples", "turtle"):
        assert is_table_or_data_error(text, form)


def is_table_or_data_error(text: bytes, form: str) -> bool:
    try:
        rows = read(text, form)
    except DataError as error:
        return str(error).startswith("f.ttl:")
    return all(len(row) == 3 and all(row) for row in rows)
