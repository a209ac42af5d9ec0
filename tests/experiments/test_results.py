import numpy as np
import pytest

from dglkgmix.errors import CheckpointError
from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.evaluation.significance import compare, mrr_intervals
from dglkgmix.experiments.execute import Job
from dglkgmix.experiments.results import Results
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.runs.run import Run
from tests.conftest import ROOT


def group(found, strategy):
    return next(g for g in found["groups"] if g["strategy"] == strategy)


def runs(done, strategy):
    out, found, _ = done
    cells = [c for c in found["cells"] if c["strategy"] == strategy]
    return [Run.open(out / cell["run"]) for cell in sorted(cells, key=lambda c: c["seed"])]


def test_a_group_is_mean_and_spread_of_its_seeds(done):
    entry = group(done[1], "mixup")
    own = [run.rank_table("test")["rank"] for run in runs(done, "mixup")]
    values = [float(np.mean(1 / ranks)) for ranks in own]
    mrr = entry["account"]["overall"]["mrr"]
    assert mrr["mean"] == pytest.approx(np.mean(values))
    assert mrr["sd"] == pytest.approx(abs(values[0] - values[1]) / np.sqrt(2))
    assert (entry["seeds"], mrr["seeds"]) == ([0, 1], 2)
    valid = [run.metrics["valid"]["overall"]["mrr"] for run in runs(done, "mixup")]
    assert entry["valid_mrr"]["mean"] == pytest.approx(np.mean(valid))


def test_settings_are_tested_against_the_baseline_and_as_comparisons_ask(done):
    tables = {
        strategy: [run.rank_table("test") for run in runs(done, strategy)]
        for strategy in ("standard", "two-stage", "mixup")
    }
    (further,) = done[1]["comparisons"]
    found = {"standard": group(done[1], "mixup")["test"], "two-stage": further["test"]}
    for other, test in found.items():
        wanted = compare(tables[other], tables["mixup"], DegreeBins((1, 3)))
        assert test == wanted | {"seeds": [0, 1]}
    assert group(done[1], "standard")["test"] is None
    assert (further["strategy"], further["against"]["strategy"]) == ("mixup", "two-stage")
    assert further["data"] == further["against"]["data"]
    assert further["seeds"] == [0, 1]


def test_intervals_are_those_of_the_seeds_together(done):
    tables = [run.rank_table("test") for run in runs(done, "mixup")]
    found = group(done[1], "mixup")["intervals"]
    wanted = mrr_intervals(tables, DegreeBins((1, 3)))
    assert found == {name: value and list(value) for name, value in wanted.items()}


def test_validation_by_bin_for_who_chooses(done):
    tables = [run.rank_table("valid") for run in runs(done, "mixup")]
    values = [
        np.mean(1 / table["rank"][(table["tail_relation"] > 0) & (table["tail_relation"] < 3)])
        for table in tables
    ]
    found = group(done[1], "mixup")["valid_bins"]
    assert found["[1,3)"]["mean"] == pytest.approx(np.mean(values))


def test_a_shared_first_stage_counts_for_everyone_that_starts_from_it(done):
    # 44 distinct triples, both directions; 1-K batches of 16 triples, 1-N batches of 16 queries.
    kg = runs(done, "mixup")[0].kg
    triples, queries = -(-kg.num_edges // 16), -(-len(kg.train_index.heads) // 16)
    for strategy, first in (("mixup", queries), ("two-stage", queries), ("standard", 0)):
        found = group(done[1], strategy)["budget"]
        assert found["steps"] == first + 2 * triples, strategy
        if first:
            assert found["stages"]["pretrain"]["steps"] == first
        assert found["seconds"] == pytest.approx(
            sum(stage["seconds"] for stage in found["stages"].values())
        )


def test_a_first_stage_that_is_gone_counts_for_nobody(plan, job, monkeypatch):
    results = Results(plan, job)
    whole = results.collect({})
    summary = job.summary
    gone = next(name for name in plan.trainings if "_pretrain_s1" in name)
    monkeypatch.setattr(Job, "summary", lambda self, name: None if name == gone else summary(name))
    found = Results(plan, job).collect({})
    steps = [group(r, "mixup")["budget"]["stages"]["pretrain"] for r in (whole, found)]
    assert steps[0]["steps"] == steps[1]["steps"]


def test_a_damaged_rank_table_names_the_folder_to_remove(plan, job, monkeypatch):
    def damaged(self, split):
        raise CheckpointError("ranks-test.parquet: damaged. Restore it from a copy")

    monkeypatch.setattr(Run, "rank_table", damaged)
    with pytest.raises(
        CheckpointError, match=r"damaged\. Remove the folder .*runs.*trains it anew"
    ):
        Results(plan, job).collect({})


def test_distances_and_paper(done):
    entry = group(done[1], "standard")
    assert set(entry["distances"]) == {"head", "relation"}
    both = [(run.kg, run.model.encoder) for run in runs(done, "standard")]
    own = [embedding_distances(kg, of.entity_table, of.relation_table) for kg, of in both]
    for side in ("head", "relation"):
        mean = np.mean([found[side] for found in own])
        assert entry["distances"][side]["mean"] == pytest.approx(mean)
        assert entry["distances"][side]["seeds"] == 2
    assert entry["paper"] == {}


def test_a_group_without_a_finished_cell_is_empty(done):
    entry = group(done[1], "broken")
    assert entry["seeds"] == []
    assert entry["probabilities"] is None
    for key in ("account", "valid_mrr", "valid_bins", "distances", "budget", "intervals", "test"):
        assert entry[key] is None


def test_nothing_is_read_or_tested_twice(plan, job, monkeypatch):
    results = Results(plan, job)
    first = results.collect({})
    assert first["counts"] == {"done": 6, "failed": 0, "pending": 2}

    def never(*arguments, **options):
        raise AssertionError

    monkeypatch.setattr("dglkgmix.experiments.results.compare", never)
    monkeypatch.setattr("dglkgmix.experiments.results.mrr_intervals", never)
    monkeypatch.setattr("dglkgmix.experiments.results.Run.open", never)
    assert results.collect({}) == first


def test_the_guide_documents_every_key(done):
    guide = (ROOT / "docs" / "guides" / "experiments.md").read_text(encoding="utf-8")
    part = guide.split("## The results")[1].split("# Search")[0]
    _, found, _ = done
    keys = {*found, *found["groups"][0], *(key for cell in found["cells"] for key in cell)}
    assert [key for key in sorted(keys) if f"`{key}" not in part] == []
