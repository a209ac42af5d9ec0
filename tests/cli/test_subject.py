import pytest

from dglkgmix.cli.evaluate import evaluate
from dglkgmix.errors import ConfigError
from dglkgmix.evaluation import list_probability
from tests.cli.conftest import call, call_json, ring_rows


def test_the_popularity_baseline(ring_folder, monkeypatch):
    monkeypatch.setattr(list_probability, "FEWEST", 1)
    given = ("--baseline", "popularity", "--data", ring_folder)
    found = call_json(evaluate, *given)
    assert found["overall"]["queries"] == 10
    # every entity has at most one incoming edge of a relation: no answer outranks all others
    assert found["overall"]["hits@1"] == 0
    assert found["calibration"]["scale"] > 0
    assert found["shortlist"]["overall"]["answers"] == 100
    page = call(evaluate, *given).stdout
    assert page.startswith(f"popularity on {ring_folder}: test split, 5 triples")


def test_one_file_is_split_by_the_given_shares(tmp_path):
    path = tmp_path / "triples.tsv"
    path.write_text("".join(f"a{i % 5}\tr\tb{i // 5}\n" for i in range(20)))
    split = ("--shares", "0.5,0.25,0.25", "--split-seed", 1)
    found = call_json(evaluate, "--baseline", "popularity", "--data", path, *split)
    assert found["overall"]["queries"] == 2 * 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of RUN, --ranks and --baseline; given: none"),
        (("RUN", "--baseline", "popularity"), "given: RUN and --baseline"),
        (("--baseline", "popularity"), "--baseline needs --data"),
        (("--ranks", "x.csv"), "--ranks needs --data"),
        (("RUN", "--data", "world"), "--data has no use with RUN"),
        (("--ranks", "x.csv", "--data", "w", "--false-triples", "f"), "--false-triples has no use"),
    ],
)
def test_options_that_do_not_fit_together(run, arguments, message):
    with pytest.raises(ConfigError, match=message):
        call(evaluate, *(run if argument == "RUN" else argument for argument in arguments))


def test_without_validation_triples_there_is_no_calibration(make_run):
    rows = ring_rows() | {"valid": []}
    assert call_json(evaluate, make_run("unvalidated", rows=rows))["calibration"] is None
