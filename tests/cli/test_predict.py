import csv
import json
from dataclasses import asdict, replace

import pytest

from dglkgmix.cli.predict import _page, predict, why_page
from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.neighbours import Neighbour, Neighbours
from dglkgmix.prediction.answers import Answer, Prediction, Predictor, Query
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.why import Explainer, Why
from dglkgmix.runs.run import Run
from tests.cli.conftest import FORMULA, RED, call, call_json


def test_the_json_is_the_contract(run, listed):
    found = call_json(predict, run, "--head", "e2", "--relation", "next", "--top", 3)
    assert found["query"] == {"head": "e2", "relation": "next", "tail": None}
    assert found["asked"] == "tail"
    assert found["warnings"] == []
    assert len(found["answers"]) == 3
    opened = Run.open(run)
    predictor = Predictor(opened.kg, ModelScorer(opened.model), listed)
    expected = predictor.predict(Query("e2", "next"), top=3).answers
    assert found["answers"] == [vars(answer) for answer in expected]
    chances = {answer["name"]: answer["probability"] for answer in found["answers"]}
    assert chances.pop("e3", None) is None  # in train
    assert all(0 < chance < 1 for chance in chances.values())


def test_the_page_is_aligned_and_no_name_steers_the_terminal(run):
    page = call(predict, run, "--head", RED, "--relation", "next", "--top", 13).stdout
    assert "\x1b" not in page
    assert page.splitlines()[0] == r"\x1b[31mred · next · ?"
    heading, *rows = page.splitlines()[2:]
    assert heading.split() == ["tail", "score", "probability", "degree", "bin"]
    assert [row.split()[0] for row in rows] == [str(i) for i in range(1, 14)]
    known = next(row for row in rows if FORMULA in row)
    assert known.endswith("known")
    assert next(row for row in rows if "lone" in row).endswith("untrained")


def test_why_is_shown_of_the_first_answers_and_stored_of_all(run, tmp_path):
    query = ("--head", "e2", "--relation", "skip", "--top", 4, "--why")
    found = call_json(predict, run, *query)
    kg, model = Run.open(run).kg, Run.open(run).model
    explainer = Explainer(kg, Neighbours(kg, model))
    for answer in found["answers"]:
        assert answer["why"] == asdict(explainer.why(Triple("e2", "skip", answer["name"]), "tail"))
    assert call(predict, run, *query).stdout.count("shortest paths:") == 3
    call(predict, run, *query, "--out", tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl").read_text()) == found


def test_an_untrained_name_is_answered_with_a_warning(run):
    """Case 24."""
    result = call(predict, run, "--head", "lone", "--relation", "next", "--json")
    assert "'lone' is in no training triple" in result.stderr
    assert len(json.loads(result.stdout)["answers"]) == 10
    with pytest.raises(UnknownNameError, match=r"'lon'.*'lone'"):
        call(predict, run, "--head", "lon", "--relation", "next")


def test_many_queries_from_a_file(run, tmp_path):
    queries, out = tmp_path / "queries.csv", tmp_path / "answers.csv"
    queries.write_text("head,relation,tail\ne2,next,\n,skip,e4\ne2,,e3\n")
    result = call(predict, run, "--queries", queries, "--out", out, "--top", 2)
    assert result.stdout == ""
    assert "6 answers to 3 queries" in result.stderr
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["asked"] for row in rows] == ["tail"] * 2 + ["head"] * 2 + ["relation"] * 2
    alone = call_json(predict, run, "--relation", "skip", "--tail", "e4", "--top", 2)["answers"]
    assert [row["head"] for row in rows[2:4]] == [
        f"'{a['name']}" if a["name"] == FORMULA else a["name"] for a in alone
    ]
    assert [float(row["score"]) for row in rows[2:4]] == [a["score"] for a in alone]


UNKNOWN = "head,relation,tail\nlon,next,\ne2,next,\nlon,skip,\ne3,nxt,\n,next,E2\n"


def test_all_unknown_names_of_a_file_are_told(run, tmp_path):
    queries = tmp_path / "queries.csv"
    queries.write_text(UNKNOWN)
    with pytest.raises(UnknownNameError) as caught:
        call(predict, run, "--queries", queries, "--out", tmp_path / "a.csv")
    title, *lines = str(caught.value).split("\n  ")
    assert title == (
        f"{queries}: 4 of 5 queries hold unknown names; --skip-unknown leaves them out"
    )
    assert [line.split(";")[0] for line in lines] == [
        f"{queries}:2 and 1 more: unknown entity 'lon'",
        f"{queries}:5: unknown relation 'nxt'",
        f"{queries}:6: unknown entity 'E2'",
    ]
    assert "close matches: 'e2'" in lines[2]
    assert not (tmp_path / "a.csv").exists()


def test_of_many_unknown_names_ten_are_told(run, tmp_path):
    queries = tmp_path / "queries.tsv"
    queries.write_text("head\trelation\ttail\n" + "".join(f"x{i}\tnext\t\n" for i in range(12)))
    with pytest.raises(UnknownNameError, match=r"'x9'\n  and 2 names more$"):
        call(predict, run, "--queries", queries, "--out", tmp_path / "a.csv")


def test_queries_with_unknown_names_can_be_left_out(run, tmp_path):
    queries, out = tmp_path / "queries.csv", tmp_path / "a.csv"
    queries.write_text(UNKNOWN)
    result = call(predict, run, "--queries", queries, "--out", out, "--skip-unknown", "--top", 1)
    assert "4 of 5 queries hold unknown names and are left out" in result.stderr
    assert "1 answer to 1 query" in result.stderr
    # The number is that of the query in the file.
    with out.open() as file:
        assert [row["query"] for row in csv.DictReader(file)] == ["2"]
    with pytest.raises(ConfigError, match="--skip-unknown has no use without --queries"):
        call(predict, run, "--head", "e2", "--relation", "next", "--skip-unknown")


def test_quotes_in_a_tsv_file_belong_to_names(make_run, tmp_path):
    """Case 49: the answers are those of the name with quotes, and are written as they are."""
    names = ['"Ada"', "Ada", '"Vienna"@en', "=1"]
    train = [(names[i], "knows", names[(i + 1) % 4]) for i in range(4)]
    rows = {"train": train, "valid": [], "test": []}
    quoted = make_run("quoted", "training.batch_size=2", rows=rows)
    queries, out = tmp_path / "q.tsv", tmp_path / "a.tsv"
    queries.write_text('head\trelation\ttail\n"Ada"\tknows\t\n')
    call(predict, quoted, "--queries", queries, "--out", out, "--top", 4)
    rows = [line.split("\t") for line in out.read_text().splitlines()[1:]]
    assert {row[1] for row in rows} == {'"Ada"'}
    assert sorted(row[3] for row in rows) == sorted(names)
    alone = call_json(predict, quoted, "--head", '"Ada"', "--relation", "knows", "--top", 4)
    assert [row[3] for row in rows] == [answer["name"] for answer in alone["answers"]]


def test_names_are_read_as_the_runs_own(make_run):
    """A run on stripped and normalised names takes a query that is not."""
    run = make_run(
        "stripped", "data.strip=true", "data.normalize=nfc", "training.batch_size=2",
        rows={"train": [("Zo\u00eb", "r", "b"), ("b", "r", "c")], "valid": [], "test": []},
    )  # fmt: skip
    found = call_json(predict, run, "--head", " Zoe\u0308", "--relation", "r ")
    assert found["query"] == {"head": "Zo\u00eb", "relation": "r", "tail": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--queries", "q.csv"), "--queries needs --out"),
        (("--queries", "q.csv", "--out", "a.csv", "--head", "e2"), "takes the place of"),
        (("--queries", "q.csv", "--out", "q.csv"), "would replace the queries"),
        (
            ("--head", "e2", "--tail", "e3", "--out", "a.xlsx"),
            r"a\.xlsx: the name must end in \.csv, \.tsv, \.jsonl or \.parquet",
        ),
        (("--head", "e2", "--tail", "e3", "--out", "a.csv", "--json"), "choose one"),
        (
            ("--head", "e2", "--tail", "e3", "--out", "a.csv", "--why"),
            r"--why has no use with \.csv",
        ),
        (("--head", "e2", "--tail", "e3", "--candidates", "typed"), "--candidates has no use"),
        (("--head", "e2", "--tail", "e3", "--types", __file__), "--types has no use where the rel"),
        (("--head", "e2", "--tail", "e3", "--sort", "score"), "--sort has no use where the rel"),
    ],
)
def test_options_that_do_not_fit_together(run, arguments, message):
    with pytest.raises(ConfigError, match=message):
        call(predict, run, *arguments)


def test_a_missing_file_of_queries(run, tmp_path):
    with pytest.raises(DataError, match=r"none\.csv: cannot be read"):
        call(predict, run, "--queries", tmp_path / "none.csv", "--out", tmp_path / "a.csv")


def test_nothing_left_is_said(make_run):
    rows = {"train": [("a", "r", "a"), ("a", "r", "b"), ("b", "r", "a")], "valid": []}
    full = make_run("full", "training.batch_size=2", rows=rows | {"test": [("b", "r", "b")]})
    page = call(predict, full, "--head", "a", "--relation", "r", "--new-only").stdout
    assert page == "a · r · ?\n\n  no answers left\n"


def test_too_few_validation_triples_give_no_probabilities_and_a_warning(run):
    """The run has three."""
    query = ("--head", "e2", "--relation", "next")
    found = call(predict, run, *query, "--json")
    assert "lower bound" not in call(predict, run, *query).stdout
    assert "no probabilities: fitting them takes 50 validation facts" in found.stderr
    answers = json.loads(found.stdout)["answers"]
    assert [answer["probability"] for answer in answers] == [None] * 10
    with pytest.raises(ConfigError, match="no probabilities here"):
        call(predict, run, *query, "--sort", "probability")


@pytest.mark.usefixtures("listed")
def test_a_run_with_probabilities_is_not_warned_of(run):
    result = call(predict, run, "--head", "e2", "--relation", "next")
    assert result.stderr == ""
    assert result.stdout.endswith("probability: a lower bound\n")


def test_a_run_without_an_encoder_is_asked_without_heavy_packages(run, run_python):
    """What makes an answer slow, checked without a clock: modules, not seconds."""
    code = """
        import sys
        from dglkgmix.cli.main import main
        assert main(["predict", sys.argv[1], "--head", "e2", "--relation", "next", "--json"]) == 0
        heavy = {"dgl", "pandas", "scipy", "matplotlib", "sklearn", "jinja2", "optuna"}
        print(sorted(heavy & set(sys.modules)), file=sys.stderr)
    """
    assert run_python(code, run).stderr.splitlines()[-1] == "[]"


def test_the_share_of_queries_with_another_answer_is_told(run, listed, monkeypatch):
    skip = Run.open(run).kg.relations.id("skip")
    counted = replace(listed, repeats={skip: 0.125})
    monkeypatch.setattr(Run, "list_probability", lambda self: counted)
    page = call(predict, run, "--head", "e2", "--relation", "skip").stdout
    assert page.endswith(
        "lacks an answer;\n"
        "  12.5 % of the relation's queries with a known answer have a further, unknown one\n"
    )


def test_candidates_alone_answer(run):
    """Nine training triples lead by *skip* to as many entities."""
    query = ("--head", "e5", "--relation", "skip", "--top", 20)
    assert len(call_json(predict, run, *query)["answers"]) == 13
    assert len(call_json(predict, run, *query, "--candidates", "observed")["answers"]) == 9


@pytest.mark.parametrize(("chances", "told"), [((0.4, 0.2, 0.3), 1), ((0.4, 0.3, None), 0)])
def test_rising_probabilities_are_explained(chances, told):
    answers = [
        Answer(f"e{i}", score=1.0, probability=p, degree=1, bin="low", known=False, trained=True)
        for i, p in enumerate(chances)
    ]
    page = _page(Prediction(Query("a", "r"), answers, []))
    assert page.count("answers are in the order of their scores") == told


def explained(name, why):
    return Answer(name, 1.0, None, 1234, "high", known=False, trained=True, why=why)


def test_four_lines_for_each_of_the_first_three_answers():
    fact, second = Triple("a", "likes", "b\n"), Triple("a", "knows", "\x1b[31m")
    near = [Neighbour("c", 0.876, 7), Neighbour("d", -0.5, 1200, reciprocal=True)]
    full = Why([fact], [fact, second], 56, [[fact, second], [fact]], near)
    empty = Why([], [], 0, [], [])
    answers = [explained("x\x1b", full), *(explained(name, empty) for name in "yzw")]
    page = why_page(Prediction(Query(None, "likes", "t"), answers, []))
    heading, first, *others = page.split("\n\n")
    assert heading.splitlines() == [
        "  training facts and neighbours of the first answers, the nearest of each;",
        "  an answer's own fact is counted in brackets, but not listed",
    ]
    assert first.splitlines() == [
        r"  1  x\x1b",
        r"     same relation and answer (1,234): a · likes · b\n",
        r"     of t (56): a · likes · b\n; a · knows · \x1b[31m",
        r"     shortest paths: a · likes · b\n + a · knows · \x1b[31m; a · likes · b\n",
        "     nearest by vector: c 0.88 (degree 7); d -0.50 (degree 1,200, reciprocal)",
    ]
    assert [block.splitlines()[0].split() for block in others] == [["2", "y"], ["3", "z"]]
    assert others[0].splitlines()[1:] == [
        "     same relation and answer (1,234): none",
        "     of t (0): none",
        "     shortest paths: none",
        "     nearest by vector: none",
    ]
