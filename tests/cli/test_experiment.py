import json

import pytest
from click.testing import CliRunner

from dglkgmix.cli.experiment import experiment
from dglkgmix.errors import ConfigError
from dglkgmix.experiments.estimate import Estimate
from dglkgmix.experiments.recipes import packaged, packaged_text
from dglkgmix.kg.graph import KnowledgeGraph

TEXT = """
[experiment]
name = "x"
[grid]
data = ["some-data"]
model = ["distmult"]
strategy = ["standard", "mixup"]
[settings]
training.epochs = 2
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    rows = [(f"e{i}", "r", f"e{(i * 7 + 1) % 12}") for i in range(12)]
    kg = KnowledgeGraph.from_names(rows, rows[:2], rows[2:4])
    monkeypatch.setattr("dglkgmix.experiments.execute.load_graph", lambda data: kg)
    path = tmp_path / "x.toml"
    path.write_text(TEXT)
    return str(path)


def invoke(*arguments):
    return CliRunner().invoke(experiment, list(arguments))


def results(failed):
    empty = {"groups": [], "cells": [], "bin_names": []}
    counts = {"done": 2 - failed, "failed": failed, "pending": 0}
    texts = {"experiment": "x", "about": "", "finding": "", "version": "1", "baseline": None}
    return {"counts": counts, **texts, **empty}


@pytest.mark.parametrize("failed", [0, 1])
def test_the_exit_status_tells_of_failed_cells(file, tmp_path, monkeypatch, failed):
    calls = []

    def run(plan, text, out, *, jobs, quiet, say):
        calls.append((len(plan.cells), text, out, jobs, quiet))
        say("a line")
        return results(failed)

    monkeypatch.setattr("dglkgmix.experiments.runner.run_experiment", run)
    found = invoke(file, "--out", str(tmp_path / "out"), "--jobs", "2", "--json")
    assert found.exit_code == failed
    assert json.loads(found.stdout)["counts"]["failed"] == failed
    assert "a line" in found.stderr
    assert calls == [(2, TEXT, tmp_path / "out", 2, False)]
    shown = invoke(file, "--out", str(tmp_path / "out"), "--quiet")
    assert shown.stdout.startswith("# x\n")
    assert "a line" not in shown.stderr


def test_a_dry_run_lists_cells_with_their_time(file, monkeypatch):
    def estimate(trainings, graphs, say):
        say("Probing")
        return [Estimate(name, 100, 3725.4) for name in trainings]

    monkeypatch.setattr("dglkgmix.experiments.estimate.estimate", estimate)
    lines = invoke(file, "--dry-run").stdout.splitlines()
    # Mixup starts from the standard cell, so two trainings fill two cells.
    words = lines[0].split(maxsplit=3)
    assert words == ["1:02:05", "100", "steps", "some-data, distmult, standard, seed 0"]
    assert lines[-1].startswith("2 cells, 2 trainings, at most about 2:04:11 of computing;")
    found = json.loads(invoke(file, "--dry-run", "--json", "--jobs", "2").stdout)
    assert found["seconds"] == pytest.approx(2 * 3725.4)
    assert invoke(file, "--dry-run").stderr == "Probing\n"
    assert invoke(file, "--dry-run", "--quiet").stderr == ""
    assert [row["cells"] for row in found["trainings"]] == [
        ["some-data, distmult, standard, seed 0"],
        ["some-data, distmult, mixup, seed 0"],
    ]


def test_an_interrupt_says_how_to_go_on(file, tmp_path, monkeypatch):
    def run(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("dglkgmix.experiments.runner.run_experiment", run)
    found = invoke(file, "--out", str(tmp_path / "out"))
    assert found.exit_code == 130
    assert found.stderr.endswith("The same command resumes.\n")


def test_without_a_folder_nothing_starts(file):
    with pytest.raises(ConfigError, match="--out is missing"):
        CliRunner().invoke(experiment, [file], catch_exceptions=False)


def test_packaged_experiments_can_be_shown():
    assert invoke("paper-main", "--show").stdout == packaged_text("experiments", "paper-main")


def test_help_has_a_grid_and_names_every_packaged_experiment():
    found = invoke("--help").output
    assert 'strategy = ["standard", "two-stage", "mixup"]' in found
    named = found.split("package:")[1].split("After")[0]
    assert sorted(named.replace(",", " ").split()) == packaged("experiments")


def test_a_folder_whose_name_is_not_utf_8_is_printed(file, monkeypatch):
    monkeypatch.setattr(
        "dglkgmix.experiments.runner.run_experiment", lambda *_, **__: {"counts": {"failed": 0}}
    )
    monkeypatch.setattr("dglkgmix.experiments.results_text.to_markdown", lambda found: "")
    found = invoke(file, "--out", "out\udcff")
    assert found.stderr == "Results: out\\xff/results.md, results.csv, results.json\n"
