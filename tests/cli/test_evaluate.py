import json

import pytest

from dglkgmix.cli.compare import compare
from dglkgmix.cli.evaluate import KINDS, evaluate
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.evaluation import account
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.shortlist import read_shortlists
from dglkgmix.runs.run import Run
from tests.cli.conftest import call, call_json, ring_rows


def test_figures_are_the_run_s_own_and_unrounded(run):
    found = call_json(evaluate, run)
    assert tuple(found["bins"]) == ("zero", "low", "medium", "high")
    assert sum(part["queries"] for part in found["bins"].values()) == 10
    assert set(found["bins"]["high"].values()) == {None, 0}
    assert found["ece"]["high"] is None
    table = Run.open(run).rank_table()
    assert found["overall"]["mrr"] == pytest.approx((1 / table["rank"]).mean(), abs=1e-15)
    assert found == json.loads(json.dumps(Run.open(run).metrics["test"]))
    valid = call_json(evaluate, run, "--split", "valid")
    assert valid["overall"]["queries"] == 6
    assert valid == Run.open(run).metrics["valid"]


def test_ranking_anew_gives_the_stored_ranks(run):
    for block in (1, 7):
        again = call_json(evaluate, run, "--block", block)
        assert again["overall"]["mrr"] == pytest.approx(
            call_json(evaluate, run)["overall"]["mrr"], abs=1e-6
        )


def test_every_grouping_is_there_on_request(run, listed):
    assert tuple(KINDS) == (*account.KINDS, "shortlist")
    arguments = [text for kind in KINDS for text in ("--by", kind)]
    found = call_json(evaluate, run, *arguments)["by"]
    assert list(found) == KINDS
    assert found["relation"].keys() == {"next", "skip"}
    page = call(evaluate, run, *arguments).stdout
    assert all(line == line.rstrip() for line in page.splitlines())


def test_the_first_answers_are_held_against_the_split(run, listed):
    """Five test triples make ten queries; 13 entities leave at least ten candidates to each."""
    found = call_json(evaluate, run, "--by", "shortlist", "--bins", "1,2")
    overall = found["shortlist"]["overall"]
    assert overall["answers"] == 100
    opened = Run.open(run)
    lists, true = read_shortlists(ModelScorer(opened.model), opened.kg, "test")
    assert overall["precision@10"] == true[:, :10].mean()
    assert overall["precision@1"] == true[:, 0].mean()
    assert overall["probability"] == pytest.approx(listed.of(lists)[:, :10].mean())
    bins = ["[0,1)", "[1,2)", "[2,inf)"]
    parts = (found, found["calibration"], found["shortlist"])
    assert [list(part["bins"]) for part in parts] == [bins] * 3
    by_relation = found["by"]["shortlist"]
    assert {name: part["answers"] for name, part in by_relation.items()} == {"next": 60, "skip": 40}
    page = call(evaluate, run, "--by", "shortlist").stdout
    assert "First ten answers of each query" in page
    assert f"{overall['probability']:.4f}" in page
    assert "First ten answers by relation" in page


def test_without_probabilities_there_is_no_shortlist(run):
    assert call_json(evaluate, run)["shortlist"] is None
    assert "First ten answers" not in call(evaluate, run).stdout
    with pytest.raises(ConfigError, match=r"--by shortlist needs .* 50 facts"):
        call(evaluate, run, "--by", "shortlist")


def test_ranks_of_another_tool_give_the_same_account(run, ring_folder, tmp_path):
    path = tmp_path / "ranks.parquet"
    own = call_json(evaluate, run, "--write-ranks", path)
    assert RankTable.from_bytes(path.read_bytes()).table.num_rows == 10
    written = call(evaluate, run, "--write-ranks", path, "--overwrite").stderr
    assert written.endswith(f"\nRanks: {path}\n")
    assert written.startswith("Warning: 4 of 5 test triples have an entity or relation that no ")
    foreign = call_json(evaluate, "--ranks", path, "--data", ring_folder)
    assert foreign["calibration"] is None
    assert {**own, "calibration": None} == foreign


def test_given_false_triples_are_classified_and_take_the_place_of_sampled_ones(run, tmp_path):
    false = tmp_path / "false.tsv"
    false.write_text("e2\tnext\te9\ne3\tskip\te3\n")
    plain, found = call_json(evaluate, run), call_json(evaluate, run, "--false-triples", false)
    assert "classification" not in plain
    classified = found["classification"]
    assert (classified["true"], classified["false"]) == (5, 2)
    assert set(classified["thresholds"]["relations"]) == {"next", "skip"}
    page = call(evaluate, run, "--false-triples", false).stdout
    shown = page.split("Triple classification: 5 true against 2")[1]
    assert f"{classified['accuracy']:.4f}" in shown
    sampled, given = plain["calibration"], found["calibration"]
    assert sum(part["triples"] for part in given["bins"].values()) == 10 + 4
    assert (given["scale"], given["offset"]) == (sampled["scale"], sampled["offset"])
    fitted = call_json(evaluate, run, "--fit-false-triples", false)["calibration"]
    assert fitted["scale"] != sampled["scale"]
    assert fitted["before"] == sampled["before"]


def test_an_empty_split_is_refused(make_run):
    rows = ring_rows()
    bare = make_run("bare", rows={"train": rows["train"], "valid": rows["valid"], "test": []})
    with pytest.raises(DataError, match="test split holds no triples"):
        call(evaluate, bare)


def test_ranks_among_observed_candidates_and_who_is_missed(run, ring_folder, tmp_path):
    path = tmp_path / "observed.parquet"
    result = call(evaluate, run, "--candidates", "observed", "--write-ranks", path, "--json")
    table = RankTable.from_bytes(path.read_bytes())
    kg = Run.open(run).kg
    zero = int((table["tail_relation"] == 0).sum())
    found = json.loads(result.stdout)
    assert found["candidates"] == {"rule": "observed", "missed": zero, "share": zero / 10}
    told = f"Warning: {zero} of 10 answers ({10 * zero:.1f} %) are no candidates (observed)"
    assert told in result.stderr
    assert found["bins"]["zero"]["hits@10"] == 0
    assert max(table["rank"]) <= kg.num_entities
    with pytest.raises(DataError, match="different candidates, 'all' and 'observed'"):
        call(compare, run, path)
    data = ("--data", ring_folder, "--candidates", "observed")
    foreign = call_json(evaluate, "--ranks", path, *data)
    assert foreign["candidates"] == found["candidates"]
    baseline = call_json(evaluate, "--baseline", "popularity", *data)
    assert baseline["candidates"] == found["candidates"]


def test_a_rule_and_a_file_of_types_are_one_too_many(run, tmp_path):
    types = tmp_path / "types.csv"
    rows = [f"{name},any" for name in Run.open(run).kg.entities]
    types.write_text("\n".join(["entity,type", *rows]))
    assert call_json(evaluate, run, "--types", types)["candidates"]["rule"] == "types-file"
    with pytest.raises(ConfigError, match="exclude each other"):
        call(evaluate, run, "--types", types, "--candidates", "all")


def test_bins_where_popularity_is_better_are_marked(tmp_path):
    """(d, r, ?): b has rank 1 by popularity and 2 in the file."""
    data, ranks = tmp_path / "data", tmp_path / "ranks.tsv"
    data.mkdir()
    (data / "train.tsv").write_text("a\tr\tb\nc\tr\tb\nc\tr\td\n")
    (data / "test.tsv").write_text("d\tr\tb\n")
    rows = ["head\trelation\ttail\tdirection\trank", "d\tr\tb\ttail\t2", "d\tr\tb\thead\t1"]
    ranks.write_text("\n".join(rows) + "\n")
    lines = call(evaluate, "--ranks", ranks, "--data", data).stdout.splitlines()
    assert [line.split()[:3] for line in lines if ") *" in line] == [["low", "[1,10)", "*"]]
    assert "  * MRR of ranking by popularity alone: low 1.0000" in lines
