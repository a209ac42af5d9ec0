import json

import pytest
import torch

from dglkgmix.errors import CheckpointError
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.runs.checkpoint import pack, unpack
from dglkgmix.training.defaults import resolve
from dglkgmix.training.stage_state import EarlyStopping, StageState, Validation
from dglkgmix.training.stages import stages

from .conftest import settings


def begin(graph, *overrides):
    (stage,) = stages(resolve(settings("model.decoder=distmult", *overrides), graph))
    return StageState(stage, LinkPredictor.build(stage.model, graph, seed=0))


def step(work):
    """One epoch of a single step."""
    work.optimizer.zero_grad()
    work.model.encoder.entity_table.square().sum().backward()
    work.optimizer.step()
    work.end_epoch()


def test_it_is_over_when_epochs_or_patience_are(graph):
    work = begin(graph, "training.epochs=2")
    step(work)
    assert not work.over
    step(work)
    assert work.over
    work = begin(graph, "training.patience=1", "training.epochs=9")
    for value in (0.5, 0.4):
        step(work)
        work.record(value)
    assert work.over


def test_news_is_what_has_not_been_validated(graph):
    work = begin(graph, "swa.enabled=true", "swa.start=3", "swa.every=2")
    assert not work.has_news
    step(work)
    assert work.has_news
    work.record(0.5)
    assert not work.has_news
    seen = []
    for _ in range(5):
        step(work)
        seen.append((work.epoch, work.averaging.count, work.has_news))
        if work.averaging.count:
            work.record(0.1)
    # The average changes at epochs 4 and 6 alone.
    assert seen == [(2, 0, True), (3, 0, True), (4, 1, True), (5, 1, False), (6, 2, True)]


def test_the_selection_is_the_best_or_a_better_last_one(graph):
    work = begin(graph)
    step(work)
    work.record(0.5)
    best = work.model.encoder.entity_table.detach().clone()
    step(work)
    equal, better = Validation(mrr=0.9, goal=0.5), Validation(mrr=0.1, goal=0.6)
    for late, epoch, goal in ((None, 1, 0.5), (equal, 1, 0.5), (better, 2, 0.6)):
        selection = work.select(late)
        assert (selection.epoch, selection.goal) == (epoch, goal)
        table = selection.weights["encoder.entity_table"]
        assert torch.equal(table, best) == (epoch == 1)


def test_a_beginning_average_starts_the_competition_again(graph):
    work = begin(graph, "swa.enabled=true", "swa.start=2", "swa.every=1")
    step(work)
    work.record(0.9)
    step(work)
    assert work.stopping.best is None
    assert work.candidate is work.averaging.model
    work.record(0.1)
    assert work.select(None).goal == 0.1
    step(work)
    work.record(0.2)
    assert work.select(None).epoch == 3


def test_a_saved_state_goes_on_to_the_same_bits(graph, tmp_path):
    options = ("swa.enabled=true", "swa.start=2", "swa.every=1", "training.lr_decay=0.5")
    one = begin(graph, *options)
    for value in (0.1, 0.3, 0.2):
        step(one)
        one.record(value)
    other = begin(graph, *options)
    pack(one.state())(tmp_path / "state")
    other.load(unpack(tmp_path / "state"), "here")
    for work in (one, other):
        step(work)
    for name, work in (("one", one), ("other", other)):
        pack(work.state())(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_plateau_lowers_the_rate(graph):
    """After each second validation without a new best; what averages has a rate of its own."""
    plateau = ("training.schedule=plateau", "training.lr_patience=2", "training.lr=0.8")
    work = begin(graph, *plateau, "swa.enabled=true", "swa.start=9", "swa.every=1")
    rates = []
    for value in (0.5, 0.4, 0.5, 0.3, 0.2, 0.6, 0.1, 0.1):
        step(work)
        work.record(value)
        rates.append(work.lr)
    assert rates == [0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1]
    step(work)
    rate = work.lr
    for value in (0.7, 0.1, 0.1):
        work.record(value)
    assert work.lr == rate


@pytest.mark.parametrize("lost", ["epoch", "model", "optimizer", "decay", "stopping", "best"])
def test_a_state_that_lacks_something_is_refused(graph, lost):
    state = begin(graph).state()
    del state[lost]
    with pytest.raises(CheckpointError, match="here: not the state of this training"):
        begin(graph).load(state, "here")


def test_a_state_of_another_model_is_refused(graph):
    state = begin(graph, "model.entity_dim=6").state()
    with pytest.raises(CheckpointError, match=r"^here does not fit the model"):
        begin(graph).load(state, "here")


@pytest.mark.parametrize(
    ("patience", "values", "best", "over"),
    [
        (2, [0.5, 0.6, 0.4, 0.3], [True, True, False, False], 4),
        (1, [0.0, 0.0], [True, False], 2),  # A tie is no improvement.
        (2, [0.5, 0.4, 0.6, 0.5], [True, False, True, False], None),
        (0, [0.5, 0.4, 0.3, 0.2], [True, False, False, False], None),
    ],
)
def test_the_highest_validation_is_best_and_patience_ends_after_it(patience, values, best, over):
    stopping, found, ends = EarlyStopping(patience), [], []
    for epoch, value in enumerate(values, 1):
        found.append(stopping.update(epoch, value))
        ends.append(stopping.exhausted)
    assert found == best
    assert ends == [epoch == over for epoch in range(1, len(values) + 1)]
    last = max(i for i, is_best in enumerate(best) if is_best)
    assert (stopping.best, stopping.best_epoch) == (values[last], last + 1)
    again = EarlyStopping(patience)
    again.load(json.loads(json.dumps(stopping.state())))
    assert again == stopping
    again.restart()
    assert again.update(9, -1.0)
    assert (again.best, again.best_epoch, again.count) == (-1.0, 9, 0)
