from __future__ import annotations

import csv
import json

import pyarrow.parquet as pq
import pytest

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.prediction import files
from dglkgmix.prediction.answers import Answer, Prediction, Query
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.files import (
    COLUMNS,
    ENDINGS,
    read_queries,
    write_answers,
    write_rows,
)

WILD = '=cmd|" /C calc"!A0'


@pytest.fixture
def predictions():
    def answer(name, score=1.5, probability=0.75):
        return Answer(name, score, probability, degree=3, bin="low", known=True, trained=False)

    return [
        Prediction(Query("a", "r"), [answer(WILD), answer("b, c", -2.0, None)], []),
        Prediction(Query(relation="-r", tail="t"), [answer("é")], ["untrained"]),
    ]


def test_queries_by_column_with_their_lines(tmp_path):
    path = tmp_path / "queries.csv"
    path.write_text(
        '\ufeffnote,tail,head,relation\nx,,"a, b",r\n\n,t,,"r ""q"""\n', encoding="utf-8"
    )
    assert read_queries(path) == [
        (f"{path}:2", Query("a, b", "r")),
        (f"{path}:4", Query(relation='r "q"', tail="t")),
    ]


@pytest.mark.parametrize("ending", ["tsv", "txt"])
def test_queries_with_tabs(tmp_path, ending):
    path = tmp_path / f"queries.{ending}"
    path.write_text("head\trelation\ttail\na\t\tb\n")
    assert read_queries(path) == [(f"{path}:2", Query(head="a", tail="b"))]


def test_a_row_without_an_empty_field_is_a_given_fact(tmp_path):
    path = tmp_path / "queries.csv"
    path.write_text("head,relation,tail\na,r,b\n,r,b\n")
    assert read_queries(path) == [
        (f"{path}:2", Triple("a", "r", "b")),
        (f"{path}:3", Query(relation="r", tail="b")),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("head,relation\na,r\n", "column 'tail' is missing"),
        ("", "column 'head' is missing"),
        ("head,relation,tail,head\na,r,,\n", "column 'head' is there twice"),
        ('head,relation,tail\na"b,r,\n', ":2: a quote inside an unquoted field"),
        ("head,relation,tail\na,r,\na,,\n", r":3: a query gives two"),
        ("head,relation,tail\na,r\n", r":2: expected 3 comma-separated fields, found 2"),
    ],
)
def test_what_is_no_query_is_named_by_file_and_line(tmp_path, text, message):
    path = tmp_path / "queries.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=f"queries.csv.*{message}"):
        read_queries(path)


def test_other_files_hold_no_queries(tmp_path):
    with pytest.raises(DataError, match=r"\.csv, \.tsv, \.txt"):
        read_queries(tmp_path / "queries.json")
    (tmp_path / "latin.csv").write_bytes(b"head,relation,tail\n\xe9,r,\n")
    with pytest.raises(DataError, match=r"latin.csv:2: invalid UTF-8 \(byte 0xe9\)"):
        read_queries(tmp_path / "latin.csv")


def expected(wild):
    shared = {"degree": 3, "bin": "low", "known": True, "trained": False}
    return [
        dict(zip(COLUMNS, row, strict=False)) | shared
        for row in (
            (1, "a", "r", wild, "tail", 1, 1.5, 0.75),
            (1, "a", "r", "b, c", "tail", 2, -2.0, None),
            (2, "é", "-r", "t", "head", 1, 1.5, 0.75),
        )
    ]


def test_exact_formats_keep_names_to_the_letter(tmp_path, predictions):
    write_answers(tmp_path / "answers.parquet", predictions)
    table = pq.read_table(tmp_path / "answers.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == expected(WILD)


def test_a_line_of_json_is_a_query(tmp_path, predictions):
    write_answers(tmp_path / "answers.jsonl", [*predictions, Prediction(Query("a", "r"), [], [])])
    lines = (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    first, second, empty = map(json.loads, lines)
    shared = {"degree": 3, "bin": "low", "known": True, "trained": False, "why": None}
    assert first == {
        "query": {"head": "a", "relation": "r", "tail": None},
        "asked": "tail",
        "functional": False,
        "another": None,
        "answers": [
            {"name": WILD, "score": 1.5, "probability": 0.75} | shared,
            {"name": "b, c", "score": -2.0, "probability": None} | shared,
        ],
        "warnings": [],
    }
    assert (second["asked"], second["answers"][0]["name"]) == ("head", "é")
    assert second["warnings"] == ["untrained"]
    assert (empty["asked"], empty["answers"]) == ("tail", [])


def test_names_in_tsv_are_to_the_letter_there_and_back(tmp_path, predictions):
    """Case 49: answers in TSV are read as queries that hold the same names."""
    path = tmp_path / "answers.tsv"
    write_answers(path, predictions)
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[1].split("\t")[:6] == ["1", "a", "r", WILD, "tail", "1"]
    assert [line.split("\t")[7] for line in lines[1:4]] == ["0.75", "", "0.75"]
    names = ['"Ada"', "Ada", '"Vienna"@en', 'say ""', "'=1"]
    queries = tmp_path / "queries.tsv"
    queries.write_text("head\trelation\ttail\n" + "".join(f"{name}\tr\t\n" for name in names))
    assert [query.head for _, query in read_queries(queries)] == names


@pytest.mark.parametrize("name", ["a\tb", "a\nb"])
def test_a_name_that_tsv_cannot_hold(tmp_path, name):
    answer = Answer(name, 1.0, None, degree=0, bin="zero", known=False, trained=True)
    found = [Prediction(Query("a", "r"), [answer], [])]
    with pytest.raises(DataError, match=r"answers\.tsv: the name .*TSV cannot hold: write \.csv"):
        write_answers(tmp_path / "answers.tsv", found)


def test_spreadsheets_see_no_formula(tmp_path, predictions):
    path = tmp_path / "answers.csv"
    write_answers(path, predictions)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["tail"] for row in rows] == [f"'{WILD}", "b, c", "t"]
    assert rows[2]["relation"] == "'-r"
    assert rows[1]["score"] == "-2.0"  # a number is no formula
    assert rows[1]["probability"] == ""


def test_no_answers_make_a_file_with_columns_alone(tmp_path):
    for ending in ("csv", "parquet", "jsonl"):
        write_answers(tmp_path / f"none.{ending}", [])
    assert (tmp_path / "none.csv").read_text() == ",".join(COLUMNS) + "\n"
    assert pq.read_table(tmp_path / "none.parquet").schema.field("score").type == "double"


def test_an_ending_may_be_in_capitals(tmp_path, predictions):
    for name in ("a.csv", "b.CSV", "c.jsonl", "d.JSONL"):
        write_answers(tmp_path / name, predictions)
    assert (tmp_path / "b.CSV").read_bytes() == (tmp_path / "a.csv").read_bytes()
    assert (tmp_path / "d.JSONL").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_other_endings_are_refused(tmp_path, predictions):
    with pytest.raises(ConfigError, match=r"must end in \.csv, \.tsv, \.jsonl or \.parquet"):
        write_answers(tmp_path / "answers.xlsx", predictions)
    assert not (tmp_path / "answers.xlsx").exists()


TYPES = {"name": str, "count": int, "share": float, "known": bool}
ROWS = [
    {"name": "a", "count": 1, "share": 0.5, "known": True},
    {"name": "=b", "count": None, "share": None, "known": False},
    {"name": "c", "count": 3, "share": 1e-9, "known": None},
]


def test_parquet_keeps_types_and_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_GROUP", 2)
    write_rows(tmp_path / "rows.parquet", iter(ROWS), TYPES)
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table.to_pylist() == ROWS
    assert [str(kind) for kind in table.schema.types] == ["string", "int64", "double", "bool"]
    assert pq.ParquetFile(tmp_path / "rows.parquet").num_row_groups == 2


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
