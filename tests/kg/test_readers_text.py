import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dglkgmix.errors import DataError
from dglkgmix.kg import readers_text
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.readers_text import CSV, TSV, Dialect, read_text, text_rows


def read(text, dialect=TSV, **options):
    raw = text.encode() if isinstance(text, str) else text
    table = read_text(io.BytesIO(raw), "f", dialect, ReadOptions(**options))
    return list(zip(*table.columns(), strict=True))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", []),
        ("a\tr\tb\n", [("a", "r", "b")]),
        ("a\tr\tb\r\nb\tr\tc", [("a", "r", "b"), ("b", "r", "c")]),
        ("New York\tlocated in\tUSA\n", [("New York", "located in", "USA")]),
        (" a \t\u00a0r\t\u3000b\u2028\n", [(" a ", "\u00a0r", "\u3000b\u2028")]),
        ('NA\tnan\t00260881\n1.0\tnull\t"x\n', [("NA", "nan", "00260881"), ("1.0", "null", '"x')]),
        ("\ufeffa\tr\tb\n\ufeffa\tr\tb\n", [("a", "r", "b"), ("\ufeffa", "r", "b")]),
        ("a\rx\tr\tb\rc\n", [("a\rx", "r", "b\rc")]),
        ("a\tr\tb\r\r\n", [("a", "r", "b\r")]),
        ("a\x00\tr\x0b\x0c\x85\tb\x1c\n", [("a\x00", "r\x0b\x0c\x85", "b\x1c")]),
        ("\n\na\tr\tb\n\r\n\n", [("a", "r", "b")]),
    ],
)
def test_names_to_the_letter(text, rows):
    """Cases 7 and 31."""
    assert read(text) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\tr\tb\nc\tr\n", "f:2: expected 3 tab-separated fields, found 2"),
        (b"\n\r\na\tr\tb\tc\n", "f:3: expected 3 tab-separated fields, found 4"),
        (b"a\tr\tb\n \n", "f:2: expected 3 tab-separated fields, found 1"),
        (b"a\tr\tb\n\nc\t\td", "f:3: the relation is empty"),
        (b"\tr\tb\n", "f:1: the head is empty"),
        (b"a\tr\t\r\n", "f:1: the tail is empty"),
        (b"a\tr\t", "f:1: the tail is empty"),
        (b"a\tr\tb\n\nc\t\xff\td\n", "f:3: invalid UTF-8 (byte 0xff): convert it to UTF-8"),
        (b"a\tr\xc3\tb\n", "f:1: invalid UTF-8 (byte 0xc3): convert it to UTF-8"),
        (b"a\tr\tb\xe2\x80", "f:1: invalid UTF-8 (byte 0xe2): convert it to UTF-8"),
        (
            b"a\tr\nb\tr\t\xff\nc\n",
            (
                "f:1: expected 3 tab-separated fields, found 2\n"
                "  f:2: invalid UTF-8 (byte 0xff): convert it to UTF-8"
            ),
        ),
        (
            b"\xff\xfea\x00\t\x00",
            "f:1: invalid UTF-8 (this looks like UTF-16): convert it to UTF-8",
        ),
        (
            "gene\tr\té\n".encode("utf-16-le"),
            "f:1: invalid UTF-8 (this looks like UTF-16): convert it to UTF-8",
        ),
        (
            b"PK\x03\x04\n",
            "f:1: no text (this looks like zip): unpack it, or save it as text",
        ),
        (
            b"\x1f\x8b\x08\x00\n",
            "f:1: no text (this looks like gzip): its name must end in .gz",
        ),
    ],
)
def test_bad_rows_are_named(text, message):
    with pytest.raises(DataError) as caught:
        read(text)
    assert str(caught.value) == message


def test_columns_by_place():
    text = "x\tb\tr\t\ta\ny\td\ts\t\tc\n"
    rows = read(text, columns=("_", "tail", "relation", "_", "head"))
    assert rows == [("a", "r", "b"), ("c", "s", "d")]
    with pytest.raises(DataError, match="f:1: expected 4 tab-separated fields, found 5"):
        read(text, columns=("_", "tail", "relation", "head"))


def test_columns_by_header():
    text = "\n\nobject\tverb\tsubject\tnote\nb\tr\ta\t\nd\ts\tc\tx\n"
    rows = read(text, header=True, columns=("subject", "verb", "object"))
    assert rows == [("a", "r", "b"), ("c", "s", "d")]
    with pytest.raises(DataError, match="f:3: cannot tell head, relation and tail"):
        read(text, header=True)
    with pytest.raises(DataError, match=r"f:3: no column 'subjekt' among .* 'verb', 'subject'"):
        read(text, header=True, columns=("subjekt", "verb", "object"))
    with pytest.raises(
        DataError, match=r"f:1: one column alone, 's;p;o': name .* with --delimiter"
    ):
        read("s;p;o\n", header=True)
    assert read("s\tp\to\n", header=True) == []
    assert read("s\tp\to\na\tr\tb\n", header=True) == [("a", "r", "b")]


def test_other_delimiters():
    assert read("a b|r\t|c\n", Dialect("|", quoted=False)) == [("a b", "r\t", "c")]
    with pytest.raises(DataError, match=r"f:1: expected 3 '\|'-separated fields, found 2"):
        read("a|r", Dialect("|", quoted=False))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,r,b\n", [("a", "r", "b")]),
        ('"Doe, J.",r,"say ""x"""\r\n', [("Doe, J.", "r", 'say "x"')]),
        ('"two\nlines\r\n","r",b\n"a",r,b\n', [("two\nlines\r\n", "r", "b"), ("a", "r", "b")]),
        ("\ufeffa,r,b", [("a", "r", "b")]),
        ('a,r,b\n"a",r,"b"\n', [("a", "r", "b"), ("a", "r", "b")]),
        ("a\rb,r,c\rd\r\n", [("a\rb", "r", "c\rd")]),
    ],
)
def test_csv(text, rows):
    assert read(text, CSV) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"a\nb",r,c\nd,r\n', "f:3: expected 3 comma-separated fields, found 2"),
        ('"a\n\nb",r,c\n\n"",r,c\n', "f:5: the head is empty"),
        ('a,r,b\nc,"",d\n', "f:2: the relation is empty"),
        ('a,r,b\nc,r,5" disk\nd,r,e\n', "f:2: a quote inside an unquoted field"),
        ('a,r,b\n"c,r,d\ne,r,f\n', "f:2: a quote inside an unquoted field, or one that is never"),
        ('a,r,b\nc"d"e,r,f\ng,r\n', "f:2: a quote inside"),
        ('a,r,b\n"c"d,r,f\n', "f:2: a quote inside"),
        (' a ,r, "b', "f:1: a quote inside an unquoted field"),
    ],
)
def test_csv_faults_are_named(text, message):
    with pytest.raises(DataError) as caught:
        read(text, CSV)
    assert str(caught.value).startswith(message)


def test_csv_columns_in_another_order():
    rows = read('o,"v",s\nb,r,"a"\n', CSV, header=True, columns=("s", "v", "o"))
    assert rows == [("a", "r", "b")]
    with pytest.raises(DataError, match="f:2: the tail is empty"):
        read('o,v,s\n"",r,a\n', CSV, header=True, columns=("s", "v", "o"))


def test_a_row_without_end_is_no_endless_read(monkeypatch):
    monkeypatch.setattr(readers_text, "LONGEST_ROW", 64)
    with pytest.raises(DataError, match="f:2: a row longer than"):
        read(b"a\tr\tb\n" + b"x" * 200)


def fields_of(text, dialect):
    return [fields for _, fields in text_rows(io.BytesIO(text), "f", dialect)]


@given(st.text().map(lambda text: text.replace("0", "\t").replace("1", "\n")))
def test_tab_separated_rows_as_python_splits_them(text):
    text = text.removeprefix("\ufeff")
    lines = text.split("\n")
    ended = [line.removesuffix("\r") for line in lines[:-1]] + lines[-1:]
    assert fields_of(text.encode(), TSV) == [line.split("\t") for line in ended if line]


# Python 3.10's csv module writes no NUL.
fields = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(st.lists(st.lists(fields, min_size=2, max_size=4)), st.sampled_from(["\n", "\r\n"]))
def test_quoted_rows_as_the_csv_module_writes_them(rows, end):
    out = io.StringIO()
    csv.writer(out, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    assert fields_of(out.getvalue().encode(), CSV) == rows


def test_the_first_bad_rows_are_named_and_all_counted():
    text = "a\tr\tb\n" + "a\tr\n" * 3 + "a\t\tb\n" + "x\n" * 4
    with pytest.raises(DataError) as error:
        read(text)
    assert str(error.value).splitlines() == [
        "f:2: expected 3 tab-separated fields, found 2",
        "  f:3: expected 3 tab-separated fields, found 2",
        "  f:4: expected 3 tab-separated fields, found 2",
        "  f:5: the relation is empty",
        "  f:6: expected 3 tab-separated fields, found 1",
        "  and 3 more bad rows",
    ]


@pytest.mark.parametrize(
    ("row", "options", "warned"),
    [
        ("head\trelation\ttail", {}, True),
        ("Subject\tPredicate\tObject", {}, True),
        ("source\ttype\ttarget", {}, True),
        ("target\ttype\tsource", {"columns": ("tail", "relation", "head")}, True),
        ("head\trelation\ttail", {"header": True}, False),
        ("head\tpart of\ttail", {}, False),
    ],
)
def test_a_first_row_of_names_of_columns_is_told(row, options, warned, caplog):
    read(f"{row}\nhead\trelation\ttail\n", **options)
    assert [message.startswith("f:1: ") for message in caplog.messages] == [True] * warned
