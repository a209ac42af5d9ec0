import dataclasses
import hashlib
import json
import shutil

import pytest

from dglkgmix.config import DataConfig
from dglkgmix.errors import CheckpointError
from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.evaluation.metrics import overall
from dglkgmix.experiments.execute import (
    Job,
    budget,
    environment,
    load_graph,
    summarise,
    train_or_resume,
)
from dglkgmix.files import RunFolder
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.runs.run import Run
from dglkgmix.training.progress import Progress


def training(plan, word):
    return next(t for name, t in plan.trainings.items() if word in name)


def test_graphs_are_read_as_the_options_say_and_kept(tmp_path):
    (tmp_path / "x.csv").write_text("b,a,rel\nB,A,r\nC,A,r\nC,B,r\n")
    config = DataConfig(
        source=str(tmp_path / "x.csv"), columns=("a", "rel", "b"), header=True, split=(1, 0, 0)
    )
    kg = load_graph(config)
    assert len(kg.train) == 3
    assert list(kg.relations.names) == ["r"]
    assert load_graph(config) is kg


def test_a_two_stage_run_starts_from_the_shared_first_stage(plan, done, job):
    mixup = training(plan, "_mixup_s0")
    run = Run.open(done[0] / "runs" / mixup.name)
    assert run.config.pretrain.run == str(done[0] / "runs" / mixup.needs)
    assert {row["stage"] for row in run.history} == {"train"}
    assert job.summary(mixup.name)["settings"]["pretrain"]["run"] == f"runs/{mixup.needs}"
    first = Run.open(done[0] / "runs" / mixup.needs)
    assert len(first.history) == 1


def test_a_summary_made_with_other_bins_is_made_anew(plan, done, job):
    name = training(plan, "_standard_s0").name
    assert job.summary(name)["bin_edges"] == [1, 3]
    assert dataclasses.replace(job, bins=(1,)).summary(name) is None
    assert dataclasses.replace(job, distances=False).summary(name) is not None
    assert job.summary("unknown") is None


def copied(job, name, tmp_path):
    """A folder with one finished run and its summary, and what the summary holds."""
    for part in (f"runs/{name}", f"summaries/{name}.json"):
        (tmp_path / part).parent.mkdir()
        copy = shutil.copytree if part.startswith("runs") else shutil.copy
        copy(job.out / part, tmp_path / part)
    file = tmp_path / "summaries" / f"{name}.json"
    return dataclasses.replace(job, out=tmp_path), file, json.loads(file.read_text())


def test_a_summary_made_anew_keeps_where_the_run_was_trained(plan, done, job, tmp_path):
    name = training(plan, "_standard_s0").name
    other, file, summary = copied(job, name, tmp_path)
    file.write_text(json.dumps({"environment": {"torch": "1.0"}, "mrr": 1}))
    assert other.summary(name) is None
    other(name)
    assert other.summary(name) == summary | {"environment": {"torch": "1.0"}}


@pytest.mark.parametrize("content", ["[]", "{", '{"format": 3', None])
def test_a_summary_that_is_damaged_or_without_its_run_is_none(plan, done, job, tmp_path, content):
    name = training(plan, "_standard_s0").name
    other, file, _ = copied(job, name, tmp_path)
    if content is None:
        shutil.rmtree(tmp_path / "runs")
    else:
        file.write_text(content)
    assert other.summary(name) is None


def test_other_triples_than_the_run_was_trained_on_are_refused(plan, done, job, tmp_path):
    name = training(plan, "_standard_s0").name
    other, file, summary = copied(job, name, tmp_path)
    file.write_text(json.dumps(summary | {"graph": "0" * 64}))
    with pytest.raises(CheckpointError, match=f"tiny: other triples than .*{name} was trained on"):
        other.summary(name)


def test_a_training_goes_on_from_wherever_it_was_left(plan, tmp_path):
    standard = training(plan, "_standard_s0").config
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train_or_resume(whole, standard, Progress())
    # Killed before anything was written, after the inputs, and after an epoch.
    RunFolder.create(cut).close()
    train_or_resume(cut, standard, Progress())
    for kept in (["config.toml", "entities.parquet", "relations.parquet", "triples.parquet"], None):
        part = tmp_path / f"part-{kept is None}"
        source = RunFolder.open(whole)
        with RunFolder.create(part) as folder:
            for name in kept or [n for n in source.names if n != "metrics.json"]:
                folder.write(name, source.read(name))
        train_or_resume(part, standard, Progress())
        assert accounts(part) == accounts(whole)
    assert accounts(cut) == accounts(whole)


def accounts(path):
    found = json.loads((path / "metrics.json").read_text())
    return found["valid"], found["test"]


def test_a_moved_experiment_finds_its_first_stage(plan, done, tmp_path):
    moved = tmp_path / "moved"
    mixup = training(plan, "_mixup_s0")
    shutil.copytree(done[0], moved)
    with RunFolder.resume(moved / "runs" / mixup.name) as folder:
        folder.remove("metrics.json")
    job = Job(moved, plan.trainings, (1, 3), quiet=True)
    job(mixup.name)
    run = Run.open(moved / "runs" / mixup.name)
    assert run.finished
    assert run.config.pretrain.run.startswith(str(moved))


@pytest.fixture(scope="module")
def run(done, plan):
    return Run.open(done[0] / "runs" / training(plan, "_mixup_s0").name)


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
    found = environment("cpu")
    assert {"dglkgmix", "torch", "dgl", "numpy", "python", "machine", "cpus"} == set(found)
    assert all(found.values())


def test_the_environment_of_a_run_on_a_gpu_names_it(monkeypatch):
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: f"a card at {device}")
    assert environment("cuda:1") == environment("cpu") | {"gpu": "a card at cuda:1"}
