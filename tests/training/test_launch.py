import dataclasses

import pytest
import torch

from dglkgmix.config import RuntimeConfig, StrategyConfig
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs.run import Run
from dglkgmix.runs.run_files import STATE
from dglkgmix.training import memory
from dglkgmix.training.launch import resume, settings_of, train

from .conftest import Stop, settings, weights


def test_what_cannot_fit_is_refused_before_anything_is_written(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda _: 1000)
    with pytest.raises(ConfigError, match="of memory and 0 MiB are available"):
        train(graph, settings(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_name_is_no_graph(tmp_path):
    with pytest.raises(DataError, match=r"kg must be a KnowledgeGraph, .*, not 'world'"):
        train("world", settings(), tmp_path / "run")


def test_weights_that_cannot_be_used_leave_the_old_run_alone(graph, tmp_path):
    train(graph, settings("training.epochs=1"), tmp_path / "run")
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    for wrong in ([1.0], [-1.0] * 30, [float("nan")] * 30, [0.0] * 30):
        with pytest.raises(DataError, match="sample_weight"):
            train(graph, settings(), tmp_path / "run", overwrite=True, sample_weight=wrong)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_a_resumed_training_weighs_its_triples_as_before(graph, tmp_path):
    given = {"sample_weight": torch.arange(len(graph.train)) % 3}
    train(graph, settings(), tmp_path / "whole", **given)
    with pytest.raises(KeyboardInterrupt):
        train(graph, settings(), tmp_path / "parts", observers=[Stop(2)], **given)
    with RunFolder.resume(tmp_path / "parts") as folder:
        resume(folder, graph, settings())
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("model.encoder=compgcn", "model.decoder=rescal"), "of 8 numbers with relations of 64"),
        (("model.encoder=rgcn", "model.decomposition=block", "model.bases=3"), "bases is 3"),
    ],
)
def test_an_encoder_that_does_not_fit_is_refused_before_anything_is_written(
    graph, tmp_path, options, message
):
    with pytest.raises(ConfigError, match=message):
        train(graph, settings(*options, "model.entity_dim=8"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_settings_of_a_parent_are_its_own_in_one_stage_on_this_machine(graph, tmp_path):
    mixed = ("strategy.name=mixup", "training.epochs=5", "training.lr=0.5", "runtime.seed=3")
    train(graph, settings(*mixed, "runtime.block=99"), tmp_path / "run")
    parent = str(tmp_path / "run")
    found, stored = settings_of(parent), Run.open(tmp_path / "run").config
    assert found.training == dataclasses.replace(stored.training, parent=parent, epochs=2)
    assert (found.model, found.strategy, found.swa) == (stored.model, stored.strategy, stored.swa)
    assert (found.pretrain.enabled, stored.pretrain.enabled) == (False, True)
    assert found.runtime == RuntimeConfig(seed=3, precision="fp32")


def test_a_chain_of_parents_does_not_shorten_the_training_again(graph, tmp_path):
    train(graph, settings("training.epochs=8"), tmp_path / "first")
    train(graph, settings_of(str(tmp_path / "first")), tmp_path / "second")
    assert settings_of(str(tmp_path / "second")).training.epochs == 2


def test_what_a_parent_s_strategy_did_not_read_has_the_default_of_today(graph, tmp_path):
    mixed = ("strategy.name=mixup", "strategy.synthetic_weight=0.25", "strategy.tau=7")
    train(graph, settings(*mixed, "training.epochs=1"), tmp_path / "run")
    found = settings_of(str(tmp_path / "run")).strategy
    assert (found.name, found.synthetic_weight) == ("mixup", 0.25)
    assert found.tau == StrategyConfig().tau


@pytest.mark.parametrize("option", ["training.parent", "pretrain.run"])
def test_the_run_that_a_training_starts_from_is_not_replaced(graph, tmp_path, option):
    train(graph, settings("training.epochs=1"), tmp_path / "run")
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    given = settings(f"{option}={tmp_path / 'run'}")
    with pytest.raises(ConfigError, match="starts from this run and would replace it"):
        train(graph, given, tmp_path / "x" / ".." / "run", overwrite=True)
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_a_training_stopped_before_its_first_state_starts_from_its_parent_again(
    graph, tmp_path, caplog
):
    train(graph, settings("training.epochs=1"), tmp_path / "parent")
    given = settings(f"training.parent={tmp_path / 'parent'}")
    train(graph, given, tmp_path / "whole")
    assert not caplog.records
    other = KnowledgeGraph.from_arrays(graph.train, graph.train[:3], entities=20, relations=2)
    train(other, given, tmp_path / "split anew")
    assert "parent was trained on 3 of the validation and test triples" in caplog.text

    with pytest.raises(KeyboardInterrupt):
        train(graph, given, tmp_path / "parts", observers=[Stop(1)])
    assert not (tmp_path / "parts" / STATE).exists()
    with RunFolder.resume(tmp_path / "parts") as folder:
        resume(folder, graph, given)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")


# Steps this small leave every validation as the one before: patience runs out.
STILL = (
    *("model.decoder=distmult", "training.lr=1e-20", "training.validate_every=1"),
    "training.epochs=6",
)


def goes_on(graph, path, *options):
    """Epochs of a run that has gone on with other options."""
    with RunFolder.resume(path) as folder:
        resume(folder, graph, settings(*STILL, *options))
    return len(Run.open(path).history)


def test_a_training_that_has_ended_goes_on_only_with_more_epochs_and_patience(graph, tmp_path):
    run = tmp_path / "run"
    train(graph, settings(*STILL, "training.patience=2"), run)
    assert len(Run.open(run).history) == 3
    before = (run / "manifest.json").read_bytes()
    for options, message in {
        ("training.patience=2", "training.epochs=9"): r"over after 3 epochs, 2 validations",
        ("training.patience=1",): r"over after 3 epochs, 2 validations",
        ("training.patience=2", "training.epochs=2"): r"epochs is 2 now, and 3 epochs are trained",
    }.items():
        with pytest.raises(ConfigError, match=message):
            goes_on(graph, run, *options)
    assert (run / "manifest.json").read_bytes() == before
    assert goes_on(graph, run, "training.patience=2") == 3
    assert goes_on(graph, run, "training.patience=3") == 4
    assert goes_on(graph, run, "training.patience=0", "training.epochs=5") == 5
