from __future__ import annotations

import json
from pathlib import Path

import pytest

from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.run import Run
from dglkgmix.training import results
from dglkgmix.training.launch import train
from dglkgmix.training.run_files import read_graph

from .conftest import settings
from .test_trainer import continued


def test_metrics_hold_the_accounts_of_both_splits(graph: KnowledgeGraph, tmp_path: Path) -> None:
    result = train(graph, settings(), tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert stored["test"]["overall"] == result.test["overall"]
    assert stored["valid"]["overall"]["queries"] == 10
    history = Run.open(tmp_path / "run").history
    assert stored["seconds"] == pytest.approx(sum(row["seconds"] for row in history))
    best = max(row["valid_mrr"] for row in history)
    assert stored["valid"]["overall"]["mrr"] == pytest.approx(best, rel=1e-12)


def test_a_fault_among_the_results_leaves_a_run_that_counts_as_unfinished(
    graph: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old accounts must not stand beside new weights."""
    train(graph, settings(), tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(results, "fit_calibration", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            continued(tmp_path / "run", settings("training.epochs=4"))
    cut = Run.open(tmp_path / "run")
    assert not cut.finished
    assert cut.rank_table("test").table is not None
    continued(tmp_path / "run", settings("training.epochs=4"))
    assert Run.open(tmp_path / "run").finished


def test_a_split_without_triples_has_no_account(
    unvalidated: KnowledgeGraph, tmp_path: Path
) -> None:
    result = train(unvalidated, settings("training.epochs=1"), tmp_path / "run")
    assert result.valid is None
    assert result.test is not None
    assert result.test["calibration"] is None
    with RunFolder.resume(tmp_path / "run") as folder:
        assert not folder.has("ranks-valid.parquet")
        assert len(read_graph(folder).valid) == 0
    assert Run.open(tmp_path / "run").calibration() is None


def test_a_result_is_plain(graph: KnowledgeGraph, tmp_path: Path) -> None:
    result = train(graph, settings("training.epochs=1"), tmp_path / "run")
    assert list(result.to_dict()) == ["run", "epochs", "best_epoch", "seconds", "valid", "test"]
    json.dumps(result.to_dict(), allow_nan=False)
