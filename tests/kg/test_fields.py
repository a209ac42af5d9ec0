from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglkgmix.kg.fields import Dialect, Layout, first_bad_byte, unquote

TSV, CSV = Dialect(9, quoted=False), Dialect(44, quoted=True)


def rows_of(text: bytes, dialect: Dialect = TSV) -> list[list[bytes]]:
    layout = Layout.of(text, dialect)
    return [layout.fields_of(row) for row in range(len(layout))]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (b"", []),
        (b"\n\r\n\n", []),
        (b"a\tb\nc", [[b"a", b"b"], [b"c"]]),
        (b"a\tb\r\nc\td\r\n", [[b"a", b"b"], [b"c", b"d"]]),
        (b"\n\na\n\nb\n", [[b"a"], [b"b"]]),
        (b"a\rb\tc\r", [[b"a\rb", b"c\r"]]),
        (b"a\r\r\n", [[b"a\r"]]),
        (b"\t\n\t", [[b"", b""], [b"", b""]]),
        (b"\r", [[b"\r"]]),
        (b'"a\tb"\n', [[b'"a', b'b"']]),
    ],
)
def test_tab_separated_rows(text: bytes, rows: list[list[bytes]]) -> None:
    assert rows_of(text) == rows


@given(st.binary().map(lambda raw: raw.replace(b"\x00", b"\t").replace(b"\x01", b"\n")))
def test_tab_separated_rows_as_python_splits_them(text: bytes) -> None:
    lines = text.split(b"\n")
    ended = [line[:-1] if line.endswith(b"\r") else line for line in lines[:-1]] + lines[-1:]
    assert rows_of(text) == [line.split(b"\t") for line in ended if line]


# Python 3.10's csv module writes no NUL.
fields = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(st.lists(st.lists(fields, min_size=2, max_size=4)), st.sampled_from(["\n", "\r\n"]))
def test_quoted_rows_as_the_csv_module_writes_them(rows: list[list[str]], end: str) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    found = rows_of(out.getvalue().encode(), CSV)
    assert [[unquote(field.decode()) for field in row] for row in found] == rows


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("plain", "plain"),
        ('"a,b"', "a,b"),
        ('"say ""yes"""', 'say "yes"'),
        ('""', ""),
        ('"', None),
        ('a"b', None),
        ('"a"b"', None),
        ('"a"b', None),
        ('"a', None),
    ],
)
def test_unquote(field: str, text: str | None) -> None:
    assert unquote(field) == text


@pytest.mark.parametrize(
    ("block", "position"),
    [
        (b"plain", None),
        ("é\u2028\U0001f600".encode(), None),
        (b"ab\xff", 2),
        (b"ab\xc3\ncd", 2),
        (b"\xed\xa0\x80", 0),
        (b"", None),
    ],
)
def test_first_bad_byte(block: bytes, position: int | None) -> None:
    assert first_bad_byte(block) == position


def test_pick_returns_columns_in_their_own_order() -> None:
    layout = Layout.of(b"a\t\tb\tc\n\nd\tx\te\tf\n", TSV)
    assert layout.pick((3, 0, 2)).to_pylist() == ["a", "b", "c", "d", "e", "f"]


def test_what_fields_are_called() -> None:
    assert TSV.separated == "tab-separated"
    assert Dialect(124, quoted=False).separated == "'|'-separated"
