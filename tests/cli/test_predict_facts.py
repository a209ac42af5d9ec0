import csv
import json

import pytest

from dglkgmix.cli.predict import predict
from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.prediction.answers import Predictor
from dglkgmix.prediction.facts import COLUMNS, NEW_COLUMNS
from dglkgmix.runs.run import Run
from tests.cli.conftest import FORMULA, call, call_json

FACT = ("--head", "e2", "--relation", "next", "--tail", "e3")


@pytest.mark.usefixtures("listed")
def test_the_json_of_a_given_fact_is_the_contract(run):
    found = call_json(predict, run, *FACT)
    (expected,) = Predictor.of(Run.open(run)).predict_triples([("e2", "next", "e3")])
    assert found == expected.to_dict()
    assert found["splits"] == ["train"]
    new = call_json(predict, run, "--head", "e2", "--relation", "next", "--tail", "e9")
    assert 0 < new["directions"]["tail"]["probability"] < 1


def test_the_page_of_a_given_fact(run):
    lines = call(predict, run, *FACT).stdout.splitlines()
    assert lines[0] == "e2 · next · e3"
    assert lines[2] == "  held by train"
    heading, tail, head = (line.split() for line in lines[4:])
    assert heading == ["query", "score", "rank", "of", "probability", "degree", "bin"]
    assert (tail[:5], head[:5]) == (["e2", "·", "next", "·", "?"], ["?", "·", "next", "·", "e3"])


def test_given_facts_in_a_file(run, tmp_path):
    queries, out = tmp_path / "facts.csv", tmp_path / "judged.csv"
    queries.write_text(f"head,relation,tail\n{FORMULA},next,e2\nnobody,next,e3\ne2,skip,e9\n")
    result = call(predict, run, "--queries", queries, "--out", out, "--skip-unknown")
    assert "2 given facts:" in result.stderr
    one = call_json(predict, run, "--head", "e2", "--relation", "skip", "--tail", "e9")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["query"] for row in rows] == ["1", "3"]
    assert (rows[0]["head"], rows[0]["splits"]) == (f"'{FORMULA}", "train")
    assert float(rows[1]["head_rank"]) == one["directions"]["head"]["rank"]
    lines = out.with_suffix(".jsonl")
    call(predict, run, "--queries", queries, "--out", lines, "--skip-unknown")
    assert json.loads(lines.read_text().splitlines()[1]) == one


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_whole_relations_go_to_a_file(run, tmp_path, ending):
    out = tmp_path / f"new.{ending}"
    result = call(predict, run, "--all", "--top", 3, "--out", out)
    assert "6 new facts of 2 relations" in result.stderr
    expected = [
        row for r in ("next", "skip") for row in Predictor.of(Run.open(run)).new_facts(r, 3)
    ]
    if ending == "jsonl":
        assert [json.loads(line) for line in out.read_text().splitlines()] == expected
    else:
        with out.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0]) == list(NEW_COLUMNS)
        assert [float(row["plausibility"]) for row in rows] == [
            row["plausibility"] for row in expected
        ]


def test_the_page_and_the_json_of_a_relation(run):
    lines = call(predict, run, "--relation", "skip", "--top", 4).stdout.splitlines()
    assert lines[0] == "? · skip · ?"
    assert [line.split()[0] for line in lines[3:]] == ["1", "2", "3", "4"]
    found = call_json(predict, run, "--relation", "skip", "--top", 4)
    assert found == Predictor.of(Run.open(run)).new_facts("skip", 4)
    assert len(call_json(predict, run, "--relation", "skip")) == 100
    by_bin = call_json(predict, run, "--relation", "skip", "--top", 2, "--by-bin")
    assert [(row["tail_bin"], row["place"]) for row in by_bin] == [
        *(("zero", 1), ("zero", 2), ("low", 1), ("low", 2))
    ]
    page = call(predict, run, "--relation", "skip", "--top", 2, "--by-bin").stdout.splitlines()
    assert [line.split()[:1] for line in page[3:]] == [["1"], ["2"], [], ["1"], ["2"]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ((*FACT, "--top", 3), ConfigError, "--top has no use with given facts"),
        ((*FACT, "--new-only"), ConfigError, "--new-only has no use with given facts"),
        ((*FACT, "--sort", "score"), ConfigError, "--sort has no use with given facts"),
        ((*FACT, "--by-bin"), ConfigError, "--by-bin has no use without --relation alone"),
        ((*FACT, "--why"), ConfigError, "--why has no use without a query"),
        (("--relation", "next", "--why"), ConfigError, "--why has no use without a query"),
        (("--relation", "next", "--new-only"), ConfigError, "--new-only has no use with whole"),
        (("--relation", "next", "--sort", "score"), ConfigError, "--sort has no use with whole"),
        (("--all",), ConfigError, "--all needs --out FILE"),
        (("--all", "--relation", "next", "--out", "x.csv"), ConfigError, "--all takes no"),
        (("--relation", "nxt"), UnknownNameError, "'nxt'.*'next'"),
        ((), ConfigError, "a query gives two of head, relation and tail"),
        (("--head", "e2"), ConfigError, "a query gives two .*given: head"),
    ],
)
def test_what_makes_no_sense_is_refused(run, options, error, message):
    with pytest.raises(error, match=message):
        call(predict, run, *options)


def test_queries_among_given_facts_are_refused(run, tmp_path):
    queries = tmp_path / "facts.csv"
    queries.write_text("head,relation,tail\ne2,next,\ne2,skip,e9\n")
    with pytest.raises(
        DataError, match=r"1 of 2 rows give head, relation and tail, such as .*csv:3"
    ):
        call(predict, run, "--queries", queries, "--out", tmp_path / "out.csv")
