from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dglkgmix.config import Config, TrainingConfig
from dglkgmix.errors import CheckpointError, ConfigError
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction import error_detection
from dglkgmix.prediction.answers import Predictor
from dglkgmix.prediction.error_detection import COLUMNS, assign_folds, detect_errors
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train
from tests.training.conftest import Stop


@pytest.mark.parametrize("folds", [2, 5])
def test_without_a_fold_every_name_is_left(folds):
    draw = torch.Generator().manual_seed(0)
    columns = (torch.randint(n, (200,), generator=draw) for n in (40, 6, 40))
    triples = torch.stack([*columns], 1).unique(dim=0)
    # an entity of this triple alone, a relation of it alone, and a pair of triples of one entity
    triples = torch.cat([triples, torch.tensor([[40, 0, 1], [0, 6, 1], [41, 0, 1], [2, 0, 41]])])
    found = assign_folds(triples, folds)
    assert found[-4:-2].tolist() == [-1, -1]
    assert (found[-2:] >= 0).all()
    assert found[-2] != found[-1]
    for fold in range(folds):
        kept = triples[found != fold]
        for columns in ([0, 2], [1]):
            assert torch.equal(kept[:, columns].unique(), triples[:, columns].unique())
    sizes = found[found >= 0].bincount()
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() < 20


def test_a_self_loop_counts_once():
    """Entity 1 is in one triple alone, though twice."""
    assert assign_folds(torch.tensor([[0, 0, 2], [1, 0, 1], [2, 0, 0]]), 2)[1] == -1


def test_deviations_by_hand(monkeypatch):
    """Relation 0: 1, 3, 5, relation 1: 10, 10; with no prior facts, means 3 and 10."""
    monkeypatch.setattr(error_detection, "_PRIOR", 0)
    scores = np.array([1.0, 10, 3, 10, 5])
    found = error_detection._deviations(scores, np.array([0, 1, 0, 1, 0]))
    spread = np.sqrt(8 / 3)
    assert found == pytest.approx([-2 / spread, 0, 0, 0, 2 / spread])


def test_few_facts_of_a_relation_are_compared_with_all():
    """One fact at 0 of its relation, nine at 9 of another: mean 8.1, variance 7.29."""
    scores, relations = np.array([0.0, *[9.0] * 9]), np.array([0, *[1] * 9])
    found = error_detection._deviations(scores, relations)
    mean = 5 * 8.1 / 6
    assert found[0] == pytest.approx(-mean / np.sqrt((mean**2 + 5 * 7.29) / 6))
    assert found[0] < min(found[1:])


@pytest.fixture(scope="module")
def ring(make_run):
    return Run.open(make_run("ring"))


@pytest.fixture(scope="module")
def crossed(ring, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folds")
    return folder, detect_errors(ring, folder, 2)


def test_every_fact_is_judged_by_a_model_that_has_not_seen_it(ring, crossed):
    folder, found = crossed
    for suspect in found.facts:
        names = (suspect.fact.head, suspect.fact.relation, suspect.fact.tail)
        if suspect.judged_by == "run":
            assert suspect.fact.splits[0] in ("valid", "test")
            run = ring
        else:
            assert suspect.fact.splits == ["train"]
            run = Run.open(folder / suspect.judged_by.replace(" ", "-"))
            ids = (run.kg.entities.id(names[0]), run.kg.relations.id(names[1]))
            assert not run.kg.train_index.contains(*ids, run.kg.entities.id(names[2]))
        (fact,) = Predictor(ring.kg, ModelScorer(run.model)).predict_triples([names])
        assert fact == suspect.fact
    deviations = [suspect.deviation for suspect in found.facts]
    assert deviations == sorted(deviations)
    everything = len(ring.kg.train) + len(ring.kg.valid) + len(ring.kg.test)
    assert len(found.facts) + found.not_judged == everything
    assert set(found.facts[0].row(1)) == set(COLUMNS)


def test_trainings_that_are_there_are_used(ring, crossed, monkeypatch):
    folder, found = crossed
    monkeypatch.setattr(error_detection, "train", None)
    assert detect_errors(ring, folder, 2) == found


def test_trainings_go_on(ring, crossed, tmp_path, monkeypatch):
    """The second is interrupted: a later call needs it alone, and finds the same."""
    original = error_detection.train

    def stopped(kg, config, out, **options):
        observers = [Stop(1)] if out.name == "fold-2" else []
        return original(kg, config, out, observers=observers, **options)

    monkeypatch.setattr(error_detection, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        detect_errors(ring, tmp_path, 2)
    monkeypatch.setattr(error_detection, "train", None)
    assert detect_errors(ring, tmp_path, 2) == crossed[1]


def test_runs_on_other_facts_are_refused(ring, crossed):
    with pytest.raises(CheckpointError, match="fold-1: a run with other facts or settings"):
        detect_errors(ring, crossed[0], 3)


def test_without_folds_the_run_judges_all(ring, tmp_path):
    found = detect_errors(ring, tmp_path / "none", 0)
    assert {suspect.judged_by for suspect in found.facts} == {"run"}
    assert found.not_judged == 0
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("folds", [1, -1])
def test_folds_that_make_no_sense(ring, tmp_path, folds):
    with pytest.raises(ConfigError, match="folds must be 0, or 2 and more"):
        detect_errors(ring, tmp_path, folds)


@pytest.mark.parametrize(("section", "option"), [("pretrain", "run"), ("training", "parent")])
def test_weights_that_have_seen_every_fact_are_refused(ring, tmp_path, section, option):
    run = Run(ring.folder)
    changed = replace(getattr(ring.config, section), **{option: "runs/earlier"})
    run.config = replace(ring.config, **{section: changed})
    with pytest.raises(ConfigError, match="began with weights of runs/earlier"):
        detect_errors(run, tmp_path, 2)


@pytest.mark.filterwarnings("error")
def test_facts_that_no_fold_can_hold_take_no_training(tmp_path):
    """Every entity of the chain a – b – c but b is in one fact alone, as are both relations."""
    kg = KnowledgeGraph.from_names([("a", "r", "b"), ("b", "s", "c")])
    train(kg, Config(training=TrainingConfig(epochs=1)), tmp_path / "run")
    found = detect_errors(Run.open(tmp_path / "run"), tmp_path / "folds", 2)
    assert (found.facts, found.not_judged) == ([], 2)
    assert not (tmp_path / "folds").exists()


@pytest.mark.parametrize("regime", ["1-n", "1-k"])
def test_more_folds_than_facts(tmp_path, regime):
    """Six facts, twelve queries: folds of one fact leave ten, fewer than the run's batch."""
    kg = KnowledgeGraph.from_names([(h, r, t) for h, t in ("ab", "ba") for r in "xyz"])
    train(kg, Config(training=TrainingConfig(epochs=1, regime=regime)), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.config.training.batch_size == 12
    found = detect_errors(run, tmp_path / "folds", 9)
    assert sorted(s.judged_by for s in found.facts) == [f"fold {n}" for n in range(1, 7)]
    assert len([*(tmp_path / "folds").iterdir()]) == 6
    assert Run.open(tmp_path / "folds" / "fold-1").config.training.batch_size == 10
