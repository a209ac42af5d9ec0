import pytest

from dglkgmix.cli.report import report
from tests.cli.conftest import call


@pytest.fixture
def calls(monkeypatch):
    made = []

    def write_report(runs, out, *, split, bins, projection):
        made.append(([(r.path, r.candidates.rule) for r in runs], split, bins.edges, projection))
        out.write_text("page")

    monkeypatch.setattr("dglkgmix.report.page.write_report", write_report)
    return made


def test_runs_go_to_one_page(calls, run, other, tmp_path):
    out = tmp_path / "page.html"
    result = call(report, run, other, "--out", out, "--bins", "2,4", "--map", "tsne")
    assert calls == [([(run, "all"), (other, "all")], "test", (2, 4), "tsne")]
    assert result.stdout == f"Report: {out}\n"


def test_candidates_are_those_of_every_run(calls, run, other, tmp_path):
    call(report, run, other, "--out", tmp_path / "page.html", "--candidates", "typed")
    assert calls == [([(run, "typed"), (other, "typed")], "test", (1, 10, 50), "pca")]
