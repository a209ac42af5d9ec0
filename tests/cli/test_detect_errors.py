import csv

import pytest

from dglkgmix.cli.detect_errors import detect_errors
from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction.error_detection import detect_errors as detect
from dglkgmix.runs.run import Run
from tests.cli.conftest import call, call_json


def test_suspects_first(run, tmp_path):
    out, runs = tmp_path / "facts.csv", tmp_path / "runs"
    result = call(detect_errors, run, "--folds", 2, "--runs", runs, "--out", out, "--quiet")
    assert "2 trainings with the settings of plain, each without 1/2 of the 17" in result.stderr
    assert sorted(path.name for path in runs.iterdir()) == ["fold-1", "fold-2"]
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = detect(Run.open(run), runs, 2)
    assert [float(row["deviation"]) for row in rows] == [s.deviation for s in found.facts]
    title, _, _, *lines = result.stdout.splitlines()
    assert title == f"The 10 least plausible of {len(rows)} facts"
    assert [line.split()[0] for line in lines] == [str(i) for i in range(1, 11)]
    again = call_json(detect_errors, run, "--folds", 2, "--runs", runs, "--top", 3)
    assert (again["folds"], again["judged"]) == (2, len(rows))
    assert again["not_judged"] == found.not_judged
    assert again["facts"] == [s.row(place) for place, s in enumerate(found.facts[:3], 1)]


def test_without_folds_with_a_warning(run):
    result = call(detect_errors, run, "--folds", 0, "--relation", "skip")
    assert "Warning: the model judges the 17 facts that it was trained on" in result.stderr
    assert "of 12 facts" in result.stdout
    assert " next " not in result.stdout


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (("--folds", 1), ConfigError, "--folds must be 0 or at least 2"),
        (("--folds", 0, "--runs", "r"), ConfigError, "there are no trainings to keep"),
        (("--relation", "nxt"), UnknownNameError, "'nxt'.*'next'"),
        (("--out", "facts.xlsx"), ConfigError, r"\.parquet"),
        (("--overwrite",), ConfigError, "--overwrite has no use without --out"),
    ],
)
def test_what_is_refused_before_any_training(run, monkeypatch, options, error, message):
    monkeypatch.setattr("dglkgmix.prediction.error_detection.train", None)
    with pytest.raises(error, match=message):
        call(detect_errors, run, *options)


def test_a_name_that_tsv_cannot_hold_is_refused_before_any_training(run, tmp_path, monkeypatch):
    monkeypatch.setattr("dglkgmix.prediction.error_detection.train", None)
    names = ["a", "b\nc", "d"]
    kg = KnowledgeGraph.from_names([(names[i], "r", names[i - 1]) for i in range(3)])
    monkeypatch.setattr(Run, "kg", kg)
    with pytest.raises(DataError, match=r"facts\.tsv: the name 'b\\nc' holds a tab or a line feed"):
        call(detect_errors, run, "--folds", 2, "--out", tmp_path / "facts.tsv")
