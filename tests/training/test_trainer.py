import math
import shutil
import sys
from pathlib import Path

import pytest
import torch

import dglkgmix
from dglkgmix.config.toml import set_option
from dglkgmix.errors import CheckpointError, NumericError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.runs import checkpoint
from dglkgmix.runs.run import Run
from dglkgmix.runs.run_files import MODEL, STATE
from dglkgmix.training import stage_loop
from dglkgmix.training.defaults import resolve
from dglkgmix.training.launch import resume, train
from dglkgmix.training.progress import Progress
from tests.graphs import random_rows

from .conftest import Stop, assert_same_training, settings, timeless, weights


class Recorder(Progress):
    def __init__(self):
        self.messages = []
        self.rows = []

    def message(self, text):
        self.messages.append(text)

    def epoch(self, row):
        self.rows.append(row)


def continued(run, config, **options):
    from dglkgmix.runs.run_files import read_graph

    with RunFolder.resume(run) as folder:
        resume(folder, read_graph(folder), config, **options)


def state(run):
    return checkpoint.unpack(run / STATE)


def scripted(monkeypatch, values):
    """Validations give ``values`` in turn."""
    script = (torch.tensor([value], dtype=torch.float64) for value in values)
    monkeypatch.setattr(stage_loop, "reciprocal_ranks", lambda *_: next(script))


MOST_FRAMES = 8
FULL = (
    *("training.lr_decay=0.9", "swa.start=4", "swa.every=1", "training.patience=5"),
    "model.input_dropout=0.3",
)


@pytest.mark.parametrize(
    ("strategy", "swa"),
    [
        ("standard", "true"),
        ("standard", "false"),
        ("mixup", "true"),
        ("mixup", "false"),
        ("oversample", "true"),
        ("reweight", "false"),
        ("focal", "true"),
    ],
)
def test_a_stop_and_a_resume_give_the_bits_of_one_go(graph, tmp_path, strategy, swa):
    options = (*FULL, f"strategy.name={strategy}", f"swa.enabled={swa}", "pretrain.epochs=2")
    if strategy == "mixup":
        options += ("training.regime=1-k", "training.group_queries=true", "strategy.draws=1")
    if strategy == "oversample":
        options += ("training.regime=1-k",)
    config = settings(*options, "training.epochs=6", "runtime.save_every=1")
    train(graph, config, tmp_path / "whole")
    train(graph, settings(*options, "training.epochs=3"), tmp_path / "parts")
    continued(tmp_path / "parts", config)
    assert_same_training(tmp_path / "parts", tmp_path / "whole")
    whole, parts = state(tmp_path / "whole"), state(tmp_path / "parts")
    assert whole["stopping"] == parts["stopping"]
    assert torch.equal(whole["random"]["cpu"], parts["random"]["cpu"])


@pytest.mark.parametrize("schedule", ["cosine", "plateau"])
def test_schedules_and_goals_go_on_to_the_same_bits(graph, tmp_path, schedule):
    options = ("model.decoder=complex", "training.relation_prediction=0.5", "model.init_scale=0.1")
    options += ("training.select=zero", "training.lr_patience=1", "training.lr=0.1")
    config = settings(*options, f"training.schedule={schedule}", "training.epochs=8")
    config = set_option(config, "runtime.save_every", 1)
    train(graph, config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(graph, config, tmp_path / "parts", observers=[Stop(after=5)])
    continued(tmp_path / "parts", config)
    history = assert_same_training(tmp_path / "parts", tmp_path / "whole")
    assert len({row["lr"] for row in history}) > 2


def test_an_end_of_the_first_stage_is_none_of_the_training(graph, tmp_path):
    config = settings("pretrain.enabled=true", "pretrain.epochs=2", "training.epochs=2")
    with pytest.raises(KeyboardInterrupt):
        train(graph, config, tmp_path / "run", observers=[Stop(after=3)])
    recorder = Recorder()
    continued(tmp_path / "run", config, progress=recorder)
    assert "Going on after epoch 2 of stage 'pretrain'" in recorder.messages
    assert [row.stage for row in recorder.rows] == ["train", "train"]
    assert not any("Nothing is left" in text for text in recorder.messages)


@pytest.mark.parametrize(("last", "told"), [(0.3, True), (0.5, False)])
def test_a_last_stage_that_ends_below_the_first_is_told(
    graph, tmp_path, monkeypatch, caplog, last, told
):
    scripted(monkeypatch, [0.25, 0.4, 0.2, last])
    options = ("pretrain.enabled=true", "pretrain.epochs=2", "training.epochs=2")
    train(graph, settings(*options, "swa.enabled=false"), tmp_path / "run")
    assert (
        "ends with 0.3000 on validation, below 0.4000 of the stage before" in caplog.text
    ) == told


def test_the_best_epoch_is_that_of_the_goal(graph, tmp_path, monkeypatch):
    """Ten queries; the first alone counts for the goal."""
    first, rest = iter([0.2, 0.5, 0.4]), iter([0.9, 0.1, 0.8])
    monkeypatch.setattr(
        stage_loop,
        "reciprocal_ranks",
        lambda *_: torch.tensor([next(first)] + 9 * [next(rest)], dtype=torch.float64),
    )
    monkeypatch.setattr(stage_loop, "goal_weights", lambda *_: torch.eye(10).double()[0])
    result = train(graph, settings("training.select=zero"), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert result.best_epoch == 2
    assert run.metrics["selection"] == {"by": "zero", "value": 0.5}
    assert [row["valid_goal"] for row in run.history] == [0.2, 0.5, 0.4]
    mrr = [0.1 * 0.2 + 0.9 * 0.9, 0.1 * 0.5 + 0.9 * 0.1, 0.1 * 0.4 + 0.9 * 0.8]
    assert [row["valid_mrr"] for row in run.history] == pytest.approx(mrr)


def test_test_triples_steer_nothing(tmp_path, monkeypatch):
    """Other test triples: the same weights, history and probabilities, to the bit.

    12 entities, so that most validation queries share head and relation with a test triple.
    """
    monkeypatch.setattr("dglkgmix.evaluation.list_probability.FEWEST", 1)
    rows = random_rows(12, 2, 120)
    shuffled = rows[80:].clone()
    shuffled[:, 2] = shuffled[torch.arange(40).roll(7), 2]
    found = []
    for name, test in (("one", rows[80:]), ("other", shuffled)):
        kg = KnowledgeGraph.from_arrays(rows[:50], rows[50:80], test, entities=12, relations=2)
        train(kg, settings("training.epochs=8", "training.patience=2"), tmp_path / name)
        run = Run.open(tmp_path / name)
        probabilities = run.metrics["platt"], run.metrics["shortlist"]
        assert None not in probabilities
        found.append((weights(tmp_path / name), timeless(run.history), probabilities))
        assert run.metrics["selection"] == {
            "by": "mrr",
            "value": max(row["valid_mrr"] for row in run.history),
        }
    assert found[0] == found[1]


@pytest.mark.parametrize("after", [1, 4, 7])
def test_an_interruption_anywhere_loses_at_most_what_was_not_saved(graph, tmp_path, after):
    config = settings(
        *(*FULL, "strategy.name=mixup"),
        *("training.epochs=5", "pretrain.epochs=3", "runtime.save_every=2"),
    )
    train(graph, config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(graph, config, tmp_path / "parts", observers=[Stop(after)])
    recorder = Recorder()
    continued(tmp_path / "parts", config, progress=recorder)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    assert len(recorder.rows) in (8 - after, 8 - after + 1, 8 - after + 2)


def test_the_best_epoch_is_kept_and_patience_ends_the_training(graph, tmp_path, monkeypatch):
    plain = settings("training.epochs=2", "training.patience=2")
    scripted(monkeypatch, [0.5, 0.6])
    train(graph, plain, tmp_path / "two")
    scripted(monkeypatch, [0.5, 0.6, 0.4, 0.3])
    result = train(graph, settings("training.epochs=50", "training.patience=2"), tmp_path / "many")
    assert (result.best_epoch, result.epochs) == (2, 4)
    assert weights(tmp_path / "many") == weights(tmp_path / "two")


def test_averaging_that_never_begins_changes_nothing(graph, tmp_path):
    train(graph, settings(), tmp_path / "without")
    train(graph, settings("swa.enabled=true", "swa.start=4"), tmp_path / "with")
    assert_same_training(tmp_path / "with", tmp_path / "without")


def test_epochs_three_to_six_are_averaged_exactly(graph, tmp_path):
    """The average is worked out again from the live weights of each saved state."""
    options = ("swa.enabled=true", "swa.start=3", "swa.every=1", "runtime.save_every=1")
    live = {}
    for epochs in range(1, 7):
        config = settings(*options, f"training.epochs={epochs}")
        train(graph, config, tmp_path / str(epochs))
        live[epochs] = state(tmp_path / str(epochs))["model"]
    final = state(tmp_path / "6")["averaging"]
    assert final["count"] == 4
    assert [row["averaged"] for row in Run.open(tmp_path / "6").history] == [0, 0, 1, 2, 3, 4]
    for name in ("encoder.entity_table", "encoder.relation_table", "bias"):
        mean = torch.stack([live[epoch][name] for epoch in (3, 4, 5, 6)]).double().mean(0)
        assert torch.allclose(final["weights"][name].double(), mean, atol=1e-6)


def test_once_averaging_has_begun_only_new_averages_count(graph, tmp_path, monkeypatch):
    scripted(monkeypatch, [0.9, 0.8, 0.1, 0.2, 0.15, 0.12, 0.11])
    config = settings(
        *("swa.enabled=true", "swa.start=3", "swa.every=2", "training.epochs=20"),
        "training.patience=3",
    )
    result = train(graph, config, tmp_path / "run")
    # Averages arise at epochs 4, 6, 8 and 10; the live model's 0.9 competes with none of them.
    mrr = [row["valid_mrr"] for row in Run.open(tmp_path / "run").history]
    assert mrr == [0.9, 0.8, 0.1, 0.2, None, 0.15, None, 0.12, None, 0.11]
    assert (result.best_epoch, result.epochs) == (4, 10)


def test_where_training_ends_before_averaging_begins_the_best_is_the_result(
    graph, tmp_path, monkeypatch
):
    scripted(monkeypatch, [0.9, 0.8, 0.7])
    config = settings("swa.enabled=true", "swa.start=9", "training.epochs=3")
    assert train(graph, config, tmp_path / "run").best_epoch == 1


def test_the_last_epoch_competes_where_the_schedule_passed_it_over(graph, tmp_path, monkeypatch):
    config = settings("training.epochs=3", "training.validate_every=2")
    scripted(monkeypatch, [0.5, 0.6])
    assert train(graph, config, tmp_path / "better").best_epoch == 3
    scripted(monkeypatch, [0.5, 0.4])
    assert train(graph, config, tmp_path / "worse").best_epoch == 2
    history = Run.open(tmp_path / "worse").history
    assert [row["valid_mrr"] for row in history] == [None, 0.5, 0.4]
    assert state(tmp_path / "worse")["stopping"] == {"best": 0.5, "best_epoch": 2, "count": 0}


def test_decay_stops_where_averaging_sets_the_rate(graph, tmp_path):
    config = settings(
        *("swa.enabled=true", "swa.start=3", "swa.every=1", "swa.lr=0.5", "training.lr=0.1"),
        *("training.lr_decay=0.5", "training.epochs=15", "training.patience=0"),
    )
    train(graph, config, tmp_path / "run")
    rates = [row["lr"] for row in Run.open(tmp_path / "run").history]
    assert rates[:3] == [0.1, 0.05, 0.025]
    steps = [0.025 + (0.5 - 0.025) * (1 - math.cos(math.pi * i / 10)) / 2 for i in range(1, 11)]
    assert rates[3:13] == pytest.approx(steps, rel=1e-9)
    assert rates[13:] == pytest.approx([0.5, 0.5])


def test_two_stages_keep_the_tables_of_the_best_epoch_and_nothing_else(
    graph, tmp_path, monkeypatch
):
    first = settings("training.epochs=2", "pretrain.enabled=false")
    scripted(monkeypatch, [0.2, 0.5])
    train(graph, first, tmp_path / "first")
    scripted(monkeypatch, [0.2, 0.5, 0.1, 0.3, 0.1, 0.1])
    starts = []
    original = stage_loop.StageLoop.__init__

    def spy(self, kg, work, *rest, **named):
        starts.append(checkpoint.copy_weights(work.model))
        original(self, kg, work, *rest, **named)

    monkeypatch.setattr(stage_loop.StageLoop, "__init__", spy)
    train(graph, settings("pretrain.enabled=true", "training.epochs=3"), tmp_path / "both")
    kept = checkpoint.unpack_weights(tmp_path / "first" / MODEL)
    same = {name for name, value in starts[1].items() if torch.equal(value, kept[name])}
    assert {"encoder.entity_table", "encoder.relation_table"} <= same
    fresh = LinkPredictor.build(resolve(settings(), graph).model, graph).state_dict()
    untouched = {name for name, value in kept.items() if torch.equal(value, fresh[name])}
    assert same - untouched == {"encoder.entity_table", "encoder.relation_table"}
    history = Run.open(tmp_path / "both").history
    assert [row["stage"] for row in history] == ["pretrain"] * 3 + ["train"] * 3


@pytest.mark.parametrize("averaged", [False, True])
def test_a_finished_run_in_place_of_the_first_stage_gives_the_same_bits(averaged, graph, tmp_path):
    mixed = ["strategy.name=mixup", "swa.enabled=false"]
    own = ["pretrain.swa=true", "pretrain.swa_start=1", "pretrain.swa_every=1"]
    single = ["swa.enabled=true", "swa.start=1", "swa.every=1"]
    both = settings("pretrain.enabled=true", *mixed, *(own if averaged else []))
    train(graph, both, tmp_path / "one")
    train(graph, settings(*(single if averaged else [])), tmp_path / "first")
    train(graph, settings(f"pretrain.run={tmp_path / 'first'}", *mixed), tmp_path / "second")
    assert weights(tmp_path / "second") == weights(tmp_path / "one")
    assert any(row["averaged"] for row in Run.open(tmp_path / "first").history) is averaged


def test_tables_of_rescal_are_taken_with_their_matrices(graph, tmp_path):
    train(graph, settings("model.decoder=rescal"), tmp_path / "first")
    given = settings("model.decoder=rescal", f"pretrain.run={tmp_path / 'first'}")
    train(graph, given, tmp_path / "second")
    assert (tmp_path / "second" / "metrics.json").exists()


def test_pretrained_tables_of_another_size_are_refused(graph, tmp_path):
    train(graph, settings("training.epochs=1"), tmp_path / "first")
    given = f"pretrain.run={tmp_path / 'first'}"
    with pytest.raises(CheckpointError, match=r"entity_table, .* of shape \(8,\) there and .*18"):
        train(graph, settings(given, "model.entity_dim=18"), tmp_path / "third")
    with pytest.raises(CheckpointError, match="no such run folder"):
        train(graph, settings("pretrain.run=/nowhere"), tmp_path / "fourth")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first"]


@pytest.mark.parametrize("option", ["pretrain.run", "training.parent"])
def test_a_given_run_may_go_once_its_weights_are_in_a_state(option, graph, tmp_path):
    train(graph, settings("training.epochs=1"), tmp_path / "first")
    given = settings(f"{option}={tmp_path / 'first'}")
    train(graph, given, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(graph, given, tmp_path / "parts", observers=[Stop(2)])
    shutil.rmtree(tmp_path / "first")
    continued(tmp_path / "parts", given)
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")


def test_without_a_validation_split_all_epochs_run_and_the_last_weights_stay(unvalidated, tmp_path):
    recorder = Recorder()
    config = settings("training.patience=1")
    result = train(unvalidated, config, tmp_path / "run", progress=recorder)
    assert (result.best_epoch, result.epochs, result.valid) == (3, 3, None)
    assert any("No validation triples" in text for text in recorder.messages)
    checkpoint.pack_weights(state(tmp_path / "run")["model"])(tmp_path / "last")
    assert weights(tmp_path / "run") == (tmp_path / "last").read_bytes()


def test_a_loss_that_is_not_finite_stops_with_epoch_and_batch_and_keeps_the_best(
    graph, tmp_path, monkeypatch
):
    train(graph, settings("training.epochs=1"), tmp_path / "one")
    original, calls = stage_loop.batch_loss, [0]

    def broken(*arguments):
        calls[0] += 1
        terms = original(*arguments)
        if calls[0] == batches + 2:
            terms = type(terms)(**{**vars(terms), "loss": terms.loss * math.nan})
        return terms

    batches = Run.open(tmp_path / "one").history[0]["batches"]
    monkeypatch.setattr(stage_loop, "batch_loss", broken)
    with pytest.raises(
        NumericError, match=r"loss is nan in epoch 2, batch 2 .* of epoch 1, are kept"
    ):
        train(graph, settings(), tmp_path / "run")
    assert weights(tmp_path / "run") == weights(tmp_path / "one")
    assert Run.open(tmp_path / "run").model is not None


@pytest.mark.parametrize(("every", "epoch"), [(1, 2), (3, 4)])
def test_divergence_that_a_validation_finds_names_the_epoch_and_says_what_to_do(
    graph, tmp_path, monkeypatch, every, epoch
):
    """At its second validation; with ``every`` 3 that is the late one, after the last epoch."""
    original, calls = stage_loop.reciprocal_ranks, [0]

    def broken(model, *rest):
        calls[0] += 1
        if calls[0] == 2:
            with torch.no_grad():
                model.encoder.entity_table[0] = math.inf
        return original(model, *rest)

    monkeypatch.setattr(stage_loop, "reciprocal_ranks", broken)
    message = rf"after epoch {epoch} of stage 'train' failed: .* smaller --lr, .* of epoch {every},"
    config = settings("training.epochs=4", f"training.validate_every={every}")
    with pytest.raises(NumericError, match=message):
        train(graph, config, tmp_path / "run")
    assert Run.open(tmp_path / "run").model is not None


def test_the_same_seed_gives_the_same_bits_and_another_does_not(graph, tmp_path):
    torch.manual_seed(1)
    train(graph, settings("training.epochs=1"), tmp_path / "a")
    torch.manual_seed(2)
    before = torch.get_rng_state()
    train(graph, settings("training.epochs=1"), tmp_path / "b")
    assert torch.equal(torch.get_rng_state(), before)
    train(graph, settings("training.epochs=1", "runtime.seed=1"), tmp_path / "c")
    assert weights(tmp_path / "a") == weights(tmp_path / "b")
    assert weights(tmp_path / "a") != weights(tmp_path / "c")


def test_resuming_a_finished_run_again_changes_nothing(graph, tmp_path):
    train(graph, settings("training.validate_every=2"), tmp_path / "run")
    before = weights(tmp_path / "run"), timeless(Run.open(tmp_path / "run").history)
    continued(tmp_path / "run", settings("training.validate_every=2"))
    assert (weights(tmp_path / "run"), timeless(Run.open(tmp_path / "run").history)) == before


def test_what_a_strategy_treats_is_told_and_stored(graph, tmp_path):
    recorder = Recorder()
    config = settings("strategy.name=mixup", "pretrain.enabled=false", "swa.start=9")
    train(graph, config, tmp_path / "run", progress=recorder)
    stored = Run.open(tmp_path / "run").metrics["coverage"]
    (row, *_) = Run.open(tmp_path / "run").history
    assert stored["synthetic_per_epoch"] == row["synthetic_samples"]
    told = "\n".join(recorder.messages)
    assert f"mixup: {stored['below_threshold']:,} below threshold" in told
    assert "Averaging did not begin" in told


def test_going_on_elsewhere_says_that_bits_will_differ(graph, tmp_path):
    train(graph, settings(), tmp_path / "run")
    recorder = Recorder()
    config = settings("training.epochs=4", "runtime.threads=2")
    continued(tmp_path / "run", config, progress=recorder)
    assert any("Made with threads 1, going on with 2" in text for text in recorder.messages)


@pytest.mark.parametrize(
    "options",
    [
        ("training.regime=1-n",),
        ("training.regime=1-n", "training.loss=ce", "model.decoder=complex"),
        ("training.regime=1-n", "model.decoder=transe"),
        ("training.regime=1-k", "strategy.name=mixup"),
        ("training.regime=1-k", "training.loss=ce", "strategy.name=mixup"),
    ],
)
def test_from_train_to_the_arithmetic_of_a_loss_are_few_frames(graph, tmp_path, options):
    """The package's own, `train` and the function of `losses` or `kernels` among them."""
    package = Path(dglkgmix.__file__).parent
    arithmetic = (f"{package}/losses/", f"{package}/kernels/")
    found = set()

    def watch(frame, event, argument):
        if event != "call" or not frame.f_code.co_filename.startswith(arithmetic):
            return
        names, callers = [], frame
        while callers is not None and callers.f_code is not train.__code__:
            path = Path(callers.f_code.co_filename)
            if package in path.parents:
                names.append((path.parent.name, path.stem, callers.f_code.co_name))
            callers = callers.f_back
        if {name[0] for name in names[1:]} == {"training"}:
            found.add(("train", *names[::-1]))

    sys.setprofile(watch)
    try:
        train(graph, settings("training.epochs=1", *options), tmp_path / "run")
    finally:
        sys.setprofile(None)
    of_losses = [names for names in found if ("training", "batch_loss", "batch_loss") in names]
    assert of_losses
    assert max(map(len, of_losses)) <= MOST_FRAMES, max(of_losses, key=len)
