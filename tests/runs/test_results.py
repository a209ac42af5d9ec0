import json

import pytest

from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs import results
from dglkgmix.runs.run import Run
from dglkgmix.runs.run_files import read_graph
from dglkgmix.training.launch import train
from tests.training.test_trainer import continued

from .conftest import settings


def test_metrics_hold_the_accounts_of_both_splits(graph, tmp_path):
    result = train(graph, settings(), tmp_path / "run")
    stored = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert stored["test"]["overall"] == result.test["overall"]
    assert stored["valid"]["overall"]["queries"] == 10
    history = Run.open(tmp_path / "run").history
    assert stored["seconds"] == pytest.approx(sum(row["seconds"] for row in history))
    best = max(row["valid_mrr"] for row in history)
    assert stored["valid"]["overall"]["mrr"] == pytest.approx(best, rel=1e-12)


def test_a_fault_among_the_results_leaves_a_run_that_counts_as_unfinished(
    graph, tmp_path, monkeypatch
):
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


def test_a_split_without_triples_has_no_account(unvalidated, tmp_path):
    result = train(unvalidated, settings("training.epochs=1"), tmp_path / "run")
    assert result.valid is None
    assert result.test is not None
    assert result.test["calibration"] is None
    with RunFolder.resume(tmp_path / "run") as folder:
        assert not folder.has("ranks-valid.parquet")
        assert len(read_graph(folder).valid) == 0
    assert Run.open(tmp_path / "run").calibration() is None


def test_a_result_is_plain(graph, tmp_path):
    result = train(graph, settings("training.epochs=1"), tmp_path / "run")
    assert list(result.to_dict()) == [
        *("run", "epochs", "epoch_limit", "best_epoch", "seconds", "popularity_mrr"),
        *("valid", "test"),
    ]
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("epochs", "limit", "valid", "length"),
    [
        (100, 500, 0.2, "best epoch 50, stopped early after 100 of 500"),
        (100, 100, 0.2, "best epoch 50 of 100"),
        (50, 50, None, "epoch 50 of 50, the last one"),
    ],
)
def test_a_result_tells_its_length_in_a_line(epochs, limit, valid, length):
    account = None if valid is None else {"overall": {"mrr": valid}}
    test = {"overall": {"mrr": 0.25}}
    result = results.Result("runs/x", epochs, limit, 50, 1.5, 0.1, account, test)
    assert result.length == length
    shown = "" if valid is None else "valid MRR 0.2000, "
    assert repr(result) == f"Result(runs/x, {length}, {shown}test MRR 0.2500)"


def test_popularity_is_ranked_on_the_split_that_counts(tmp_path):
    """Training has the tails c twice and b once, and the heads a, b and d once each."""
    train_rows = [("a", "r", "c"), ("b", "r", "c"), ("d", "r", "b")]
    valid, test = [("c", "r", "c")], [("a", "r", "b")]
    small = settings("training.epochs=1", "training.batch_size=2", "model.decoder=distmult")
    # (a, r, ?): c is known, so b is first. (?, r, b): d is known, a and b tie: 1.5.
    kg = KnowledgeGraph.from_names(train_rows, valid, test)
    result = train(kg, small, tmp_path / "both")
    assert result.popularity_mrr == pytest.approx((1 + 1 / 1.5) / 2)
    assert result.mrr == result.test["overall"]["mrr"]
    # (c, r, ?): c is first. (?, r, c): a and b are known, and d is before c: 2.
    kg = KnowledgeGraph.from_names(train_rows, valid)
    result = train(kg, small, tmp_path / "valid")
    assert result.popularity_mrr == pytest.approx((1 + 1 / 2) / 2)
    assert result.mrr == result.valid["overall"]["mrr"]
    bare = train(KnowledgeGraph.from_names(train_rows), small, tmp_path / "bare")
    assert (bare.mrr, bare.popularity_mrr) == (None, None)
