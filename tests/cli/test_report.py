import pytest
from click.testing import CliRunner

from dglkgmix.cli import report as module
from dglkgmix.cli.report import report
from dglkgmix.errors import ConfigError


@pytest.fixture
def calls(monkeypatch):
    made = []

    def write_report(runs, out, *, split, bins):
        made.append(([str(run) for run in runs], split, bins.edges))
        out.write_text("page")

    monkeypatch.setattr("dglkgmix.report.page.write_report", write_report)
    return made


def test_runs_go_to_one_page(calls, tmp_path):
    out = tmp_path / "page.html"
    result = CliRunner().invoke(report, ["a", "b", "--out", str(out), "--bins", "2,4"])
    assert result.exit_code == 0, result.output
    assert calls == [(["a", "b"], "test", (2, 4))]
    assert result.stdout == f"Report: {out}\n"


def test_an_existing_file_is_not_overwritten_by_chance(calls, tmp_path):
    out = tmp_path / "page.html"
    out.write_text("mine")
    result = CliRunner().invoke(report, ["a", "--out", str(out)])
    assert isinstance(result.exception, ConfigError)
    assert out.read_text() == "mine"
    assert CliRunner().invoke(report, ["a", "--out", str(out), "--overwrite"]).exit_code == 0
    assert out.read_text() == "page"


def test_help_has_an_example_and_runs_are_required():
    assert "Example: dglkgmix report" in CliRunner().invoke(report, ["--help"]).stdout
    assert CliRunner().invoke(report, ["--out", "x"]).exit_code == 2
    assert module.__doc__
