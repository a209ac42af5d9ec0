import pytest
from click.testing import CliRunner

from dglkgmix.cli import report as module
from dglkgmix.cli.report import report
from dglkgmix.errors import ConfigError
from tests.cli.conftest import call

rules = []


@pytest.fixture
def calls(monkeypatch):
    made = []
    rules.clear()

    def write_report(runs, out, *, split, bins):
        made.append(([run.path for run in runs], split, bins.edges))
        rules.extend(run.candidates.rule for run in runs)
        out.write_text("page")

    monkeypatch.setattr("dglkgmix.report.page.write_report", write_report)
    return made


def test_runs_go_to_one_page(calls, run, other, tmp_path):
    out = tmp_path / "page.html"
    result = call(report, run, other, "--out", out, "--bins", "2,4")
    assert calls == [([run, other], "test", (2, 4))]
    assert result.stdout == f"Report: {out}\n"


def test_candidates_are_those_of_every_run(calls, run, other, tmp_path):
    call(report, run, other, "--out", tmp_path / "page.html", "--candidates", "typed")
    assert rules == ["typed", "typed"]


def test_an_existing_file_is_not_overwritten_by_chance(calls, run, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("mine")
    with pytest.raises(ConfigError):
        call(report, run, "--out", out)
    assert out.read_text() == "mine"
    call(report, run, "--out", out, "--overwrite")
    assert out.read_text() == "page"


def test_help_has_an_example_and_runs_are_required():
    assert "Example: dglkgmix report" in CliRunner().invoke(report, ["--help"]).stdout
    assert CliRunner().invoke(report, ["--out", "x"]).exit_code == 2
    assert module.__doc__
