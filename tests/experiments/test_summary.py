import hashlib

import pytest

from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.evaluation.metrics import overall
from dglkgmix.experiments.summary import budget, environment, summarise
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.runs.run import Run


@pytest.fixture(scope="module")
def run(done, plan):
    name = next(name for name in plan.trainings if "_mixup_s0" in name)
    return Run.open(done[0] / "runs" / name)


def test_a_summary_is_the_runs_own_account(run):
    found = summarise(run, [1, 3], distances=True)
    table = run.rank_table("test")
    assert found["account"] == run.account("test", DegreeBins((1, 3)))
    assert found["account"]["overall"] == overall(table)
    assert found["account"]["calibration"]["after"]["brier"] > 0
    assert found["valid_mrr"] == run.metrics["valid"]["overall"]["mrr"]
    assert found["ranks"] == hashlib.sha256(table.to_bytes()).hexdigest()
    assert found["settings"]["strategy"]["name"] == "mixup"
    encoder = run.model.encoder
    tables = (encoder.entity_table, encoder.relation_table)
    distances = embedding_distances(run.kg, *tables, threshold=5)
    assert found["distances"] == {side: distances[side] for side in ("head", "relation")}
    assert distances["head"] != distances["relation"]
    assert found["valid_bins"].keys() == {"[0,1)", "[1,3)", "[3,inf)"}
    assert found["probabilities"] is True
    assert found["bin_edges"] == [1, 3]
    assert summarise(run, [1], distances=False)["distances"] is None


def test_steps_and_seconds_add_up_by_stage():
    rows = [
        {"stage": "pretrain", "batches": 3, "seconds": 0.5},
        {"stage": "train", "batches": 4, "seconds": 1.0},
        {"stage": "train", "batches": 4, "seconds": 2.0},
    ]
    assert budget(rows) == {
        "pretrain": {"steps": 3, "seconds": 0.5},
        "train": {"steps": 8, "seconds": 3.0},
    }


def test_the_environment_names_versions_and_machine():
    found = environment()
    assert {"dglkgmix", "torch", "dgl", "numpy", "python", "machine", "cpus"} == set(found)
    assert all(found.values())
