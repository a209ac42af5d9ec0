"""A graph small enough to train on in a moment, and settings to match."""

import pytest
import torch

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE
from dglkgmix.runs.run import Run
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import StageLoop
from dglkgmix.training.stage_state import StageState
from dglkgmix.training.stages import stages

SMALL = (
    *("model.decoder=conve", "model.entity_dim=8", "model.filters=2", "model.bases=2"),
    *("training.epochs=3", "training.batch_size=16", "training.negatives=5"),
    "training.validate_every=1",
    *("runtime.threads=1", "runtime.device=cpu", "runtime.precision=fp32"),
)


@pytest.fixture(autouse=True)
def _no_sync(monkeypatch):
    """These tests write many small files and cut no power."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture(scope="session")
def graph():
    """20 entities in a ring and a second relation that skips one; 30 + 5 + 5 triples."""
    ring = [(i, 0, (i + 1) % 20) for i in range(20)]
    skips = [(i, 1, (i + 2) % 20) for i in range(20)]
    generator = torch.Generator().manual_seed(0)
    rows = torch.tensor(ring + skips)[torch.randperm(40, generator=generator)]
    return KnowledgeGraph.from_arrays(rows[:30], rows[30:35], rows[35:], entities=20, relations=2)


@pytest.fixture(scope="session")
def unvalidated(graph):
    """The same graph without a validation split."""
    return KnowledgeGraph.from_arrays(graph.train, None, graph.test, entities=20, relations=2)


def settings(*overrides):
    """Small settings with ``overrides`` on top."""
    return apply_overrides(Config(), [*SMALL, *overrides])


def begin_loop(kg, config, *, seed=5, processes=ALONE):
    """The main stage of settled settings, before its first epoch."""
    stage = stages(config)[-1]
    work = StageState(stage, LinkPredictor.build(stage.model, kg, seed=0))
    return StageLoop(kg, work, config.runtime, seed=seed, progress=Progress(), processes=processes)


class Stop:
    """An observer that interrupts after a number of epochs, as Ctrl-C would."""

    def __init__(self, after):
        self.left = after

    def write(self, row):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def timeless(rows):
    """Rows of a history without what differs from machine to machine."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def weights(run):
    """The selected weights, as the file holds them."""
    return (run / "model.safetensors").read_bytes()


def assert_same_training(first, second):
    """The same weights, and the same history but for its times; the history."""
    assert weights(first) == weights(second)
    found, expected = (timeless(Run.open(run).history) for run in (first, second))
    assert found == expected
    return found
