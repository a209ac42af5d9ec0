"""How long an experiment will take, from a few batches of each kind of training."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

import torch

from dglkgmix.config import Settled
from dglkgmix.evaluation.queries import EvalQueries, evaluation_queries
from dglkgmix.experiments.plan import Graphs, Plan, Training
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
    plan: Plan, graphs: Graphs, names: Iterable[str], say: Callable[[str], None]
) -> list[Estimate]:
    """An estimate for each of the trainings called ``names``.

    Trainings that differ only in their seed or their number of epochs share a probe, a few seconds
    each.
    """
    speeds: dict[object, tuple[int, float, float]] = {}
    found = []
    for name in names:
        training = plan.trainings[name]
        stage = _own_stage(training)
        key = _kind(training.config, stage)
        if key not in speeds:
            say(f"Probing {name}")
            speeds[key] = _probe(graphs(training.config.data), training.config, stage)
        found.append(_scaled(name, stage, *speeds[key]))
    return found


def _own_stage(training: Training) -> Stage:
    """What the training itself does: its main stage, the first one being another training."""
    return stages(training.config)[-1]


def _kind(config: Settled, stage: Stage) -> tuple[object, ...]:
    loop = dataclasses.replace(stage.training, epochs=1, validate_every=1, patience=0, lr=1.0)
    return config.data, stage.model, loop, stage.strategy, config.runtime.device


def _scaled(name: str, stage: Stage, batches: int, step: float, validation: float) -> Estimate:
    epochs, every = stage.training.epochs, stage.training.validate_every
    steps = epochs * batches
    return Estimate(name, steps, steps * step + (epochs // every + 2) * validation)


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
        return len(loop), clock.step, _validation(model, kg, config.runtime.block)


def _validation(model: LinkPredictor, kg: KnowledgeGraph, block: int) -> float:
    queries = evaluation_queries(kg, "valid")
    if not len(queries):
        return 0.0
    some = _first(queries, QUERIES)
    start = time.perf_counter()
    reciprocal_ranks(model, kg, some, block)
    return (time.perf_counter() - start) * len(queries) / len(some)


def _first(queries: EvalQueries, count: int) -> EvalQueries:
    return EvalQueries(
        queries.heads[:count],
        queries.relations[:count],
        queries.answers[:count],
        queries.direction[:count],
        queries.triple[:count],
        queries.kg,
    )


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
