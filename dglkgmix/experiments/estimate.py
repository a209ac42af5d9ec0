"""How long an experiment will take, from a few batches of each kind of training."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import torch

from dglkgmix.config import Settled
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.experiments.plan import Graphs, Training
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.device import seeded, use_threads
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import StageLoop, reciprocal_ranks
from dglkgmix.training.stage_state import StageState
from dglkgmix.training.stages import Stage, stages

# Steps before the clock starts, seconds after which it stops, and most queries ranked.
WARM_UP, SECONDS, QUERIES = 2, 2.0, 256


@dataclass(frozen=True)
class Estimate:
    """Most that a training can cost: early stopping may end it sooner."""

    name: str
    steps: int
    seconds: float


def estimate(
    trainings: Mapping[str, Training], graphs: Graphs, say: Callable[[str], None]
) -> list[Estimate]:
    """An estimate for each training.

    Those that differ only in their seed or their number of epochs share a probe, a few seconds
    each.
    """
    speeds: dict[object, tuple[int, float, float]] = {}
    found = []
    for name, training in trainings.items():
        config = training.config
        # The main stage: a first stage is a training of its own.
        stage = stages(config)[-1]
        loop = dataclasses.replace(stage.training, epochs=1, validate_every=1, patience=0, lr=1.0)
        key = config.data, stage.model, loop, stage.strategy, config.runtime.device
        if key not in speeds:
            say(f"Probing {name}")
            speeds[key] = _probe(graphs(config.data), config, stage)
        batches, step, validation = speeds[key]
        epochs, every = stage.training.epochs, stage.training.validate_every
        seconds = epochs * batches * step + (epochs // every + 2) * validation
        found.append(Estimate(name, epochs * batches, seconds))
    return found


def _probe(kg: KnowledgeGraph, config: Settled, stage: Stage) -> tuple[int, float, float]:
    """Batches of an epoch, seconds of a step and seconds of a validation."""
    device = torch.device(config.runtime.device)
    with use_threads(config.runtime.threads), seeded(0, device):
        model = LinkPredictor.build(stage.model, kg, seed=0).to(device)
        clock = _Clock()
        loop = StageLoop(kg, StageState(stage, model), config.runtime, seed=0, progress=clock)
        with suppress(_EnoughError):
            loop.epoch()
        model.eval()
        queries = evaluation_queries(kg, "valid")
        if not len(queries):
            return len(loop), clock.step, 0.0
        columns = ("heads", "relations", "answers", "direction", "triple")
        some = dataclasses.replace(queries, **{c: getattr(queries, c)[:QUERIES] for c in columns})
        start = time.perf_counter()
        reciprocal_ranks(model, kg, some, config.runtime.block)
        seconds = time.perf_counter() - start
        return len(loop), clock.step, seconds * len(queries) / len(some)


class _EnoughError(Exception):
    """The probe has seen enough batches."""


class _Clock(Progress):
    """Times batches after the first few, and stops the epoch when it knows enough."""

    def __init__(self) -> None:
        self._count = 0
        self._begin = self._start = time.perf_counter()

    def batch(self, terms: int) -> None:
        self._count += 1
        now = time.perf_counter()
        if self._count <= WARM_UP:
            self._start = now
        elif now - self._start > SECONDS:
            raise _EnoughError

    @property
    def step(self) -> float:
        """Seconds of one step."""
        timed = self._count - WARM_UP
        if timed > 0:
            return (time.perf_counter() - self._start) / timed
        return (time.perf_counter() - self._begin) / max(1, self._count)
