"""The training as a whole: fit → stage → epoch → batch. It knows no strategy or model by name."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch

from dglkgmix.config import Settled
from dglkgmix.errors import CheckpointError, NumericError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE, Processes
from dglkgmix.runs import checkpoint, run_files
from dglkgmix.runs.checkpoint import StateFile, restore_random
from dglkgmix.runs.history import Row, to_csv, to_rows
from dglkgmix.runs.results import Result, Selection, write_results
from dglkgmix.runs.start import Start
from dglkgmix.sampling.seeds import derive
from dglkgmix.training.device import seeded, use_threads
from dglkgmix.training.memory import fitting_block
from dglkgmix.training.parallel import check_devices, check_inputs
from dglkgmix.training.prepared import edge_weights
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import StageLoop
from dglkgmix.training.stage_state import StageState
from dglkgmix.training.stages import MAIN, Stage, stages

_log = logging.getLogger(__name__)


class Observer(Protocol):
    """Sees every finished epoch."""

    def write(self, row: Row) -> None:
        """Take one row of the history."""


class Trainer:
    """Trains on ``kg`` as ``config`` says and leaves everything in ``folder``.

    Args:
        kg: the graph; its validation split selects the epoch.
        config: what :func:`dglkgmix.training.launch.settled` has checked.
        folder: a run folder under this process's lock.
        start: another run's weights, for a training without a state.
        resume: go on from the folder's last complete state, if it has one.
        progress: what a person sees.
        observers: get each row of the history.
        sample_weight: (N,) double, factors of the positives' terms of ``kg.train``'s rows.
        processes: those that train this together, each with a trainer of its own; all but the
            main one have a :class:`~dglkgmix.runs.run_files.Spectator` as folder and print nothing.

    Raises:
        ConfigError: processes that would share a GPU.
        CheckpointError: a state, or another run's weights, that do not fit.
        PeerError: another of the processes is gone.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        config: Settled,
        folder: RunFolder,
        *,
        start: Start | None = None,
        resume: bool = False,
        progress: Progress | None = None,
        observers: Sequence[Observer] = (),
        sample_weight: torch.Tensor | None = None,
        processes: Processes = ALONE,
    ) -> None:
        self.kg, self.config, self.folder = kg, config, folder
        self._resume, self._processes = resume, processes
        self._sample_weight = sample_weight
        self._observers = observers if processes.main else ()
        self._progress = (progress if processes.main else None) or Progress()
        self._device = torch.device(self.config.runtime.device)
        check_devices(self._device, processes)
        runtime = self.config.runtime
        # Smaller blocks of scores where memory is short; they change no rank.
        block = min(
            processes.gathered(fitting_block(runtime.block, self._device, processes.neighbours))
        )
        if block < runtime.block:
            self._progress.message(
                f"Memory is short: evaluating in blocks of {block:,} scores, not {runtime.block:,}"
            )
        self._runtime = dataclasses.replace(runtime, block=block)
        self._states = StateFile(folder, runtime.save_every)
        self._history: list[Row] = []
        # What the next stage begins with; it drops it then, as it is as large as the model.
        self._saved: dict[str, Any] | None = None
        self._start = start

    def fit(self) -> Result:
        """Run every stage that is not done yet, and write the results.

        The caller's random state and number of threads are as before afterwards.

        Raises:
            NumericError: a loss or gradient that is not finite; the best weights so far are kept.
        """
        runtime, plan = self._runtime, stages(self.config)
        with use_threads(runtime.threads), seeded(runtime.seed, self._device):
            check_inputs(self.kg, self.config, self._processes)
            # Names and triples, then the settings: a folder that has those can be resumed.
            if not self.folder.has(run_files.CONFIG):
                new = None if self._start is None else self._start.new
                run_files.write_graph(self.folder, self.kg, new, self._sample_weight)
            run_files.write_config(self.folder, self.config)
            if self._start is not None:
                self._progress.message(f"Starting from {self._start}")
                if self._start.seen:
                    _log.warning(
                        "%s was trained on %s of the validation and test triples: figures are too "
                        "good; keep the splits, as a folder of files, and add new triples to them",
                        self._start.where,
                        f"{self._start.seen:,}",
                    )
            if not len(self.kg.valid):
                self._progress.message(
                    "No validation triples: every epoch is trained and the last weights are kept"
                )
            first = self._load_state([stage.name for stage in plan]) if self._resume else 0
            for number in range(first, len(plan) - 1):
                # Its vectors alone go on (Shomer et al., 2023, Algorithm 1).
                self._start = Start.of_stage(self._stage(plan[number], number)[0].weights)
            selection, coverage = self._stage(plan[-1], len(plan) - 1)
            self._compare_stages(plan[-1].name, selection)
            model = LinkPredictor.build(self.config.model, self.kg)
            model.load_state_dict(selection.weights)
            self._progress.message("Ranking the held-out triples")
            return write_results(
                self.folder,
                self.kg,
                model.to(self._device).eval(),
                selection,
                history=self._history,
                epoch_limit=self.config.training.epochs,
                block=runtime.block,
                coverage=coverage,
                select=self.config.training.select,
                processes=self._processes,
            )

    def _stage(self, stage: Stage, number: int) -> tuple[Selection, dict[str, int]]:
        """Train one stage, from random weights, given tables or a saved state, to its result.

        Also what its strategy treats.
        """
        # With tables from another run, the main stage draws as if it had been the second.
        order = number + bool(self.config.pretrain.run)
        seed = derive(self.config.runtime.seed, "stage", order)
        work = self._begin(stage, seed)
        if work.over and stage.name == MAIN:
            self._progress.message(
                f"Nothing is left to train: {work.epoch} epochs are done. A larger training.epochs "
                "(--epochs) or training.patience goes on"
            )
        given = self._sample_weight
        weights = None if given is None else edge_weights(self.kg, given)
        loop = StageLoop(
            self.kg,
            work,
            self._runtime,
            seed=seed,
            progress=self._progress,
            weights=weights,
            processes=self._processes,
        )
        coverage = loop.strategy.coverage()
        counts = [f"{value:,} {key.replace('_', ' ')}" for key, value in coverage.items()]
        if counts:
            self._progress.message(f"{stage.strategy.name}: {', '.join(counts)}")
        with self._kept_best(work):
            epochs = stage.training.epochs
            self._progress.start_stage(stage.name, work.epoch + 1, epochs, len(loop))
            try:
                while not work.over:
                    row = loop.epoch()
                    self._history.append(row)
                    self._progress.epoch(row)
                    for observer in self._observers:
                        observer.write(row)
                    if self._states.is_due(work.epoch):
                        self._save(work)
                self._save(work)
            finally:
                self._progress.end_stage()
            selection = loop.select()
        if (late := selection.late) is not None:
            # The state, which is saved, must not know of it.
            self._history[-1] = dataclasses.replace(
                self._history[-1], valid_mrr=late.mrr, valid_goal=late.goal
            )
        if stage.swa.enabled and not work.averaging.count:
            self._progress.message(
                "Averaging did not begin: training ended before an epoch from "
                f"{stage.swa.start} on that {stage.swa.every} divides (swa.start, swa.every). "
                "The best epoch is the result"
            )
        return selection, coverage

    def _compare_stages(self, last: str, selection: Selection) -> None:
        """Warn where the last stage ends below what an earlier one had reached on validation."""
        earlier = [row.valid_goal for row in self._history if row.stage != last]
        best = max((goal for goal in earlier if goal is not None), default=0.0)
        if self._processes.main and selection.goal is not None and selection.goal < best:
            _log.warning(
                "stage %r ends with %.4f on validation, below %.4f of the stage before: it may "
                "need a lower rate (training.lr) or, with KG-Mixup, a smaller weight "
                "(strategy.synthetic_weight)",
                last,
                selection.goal,
                best,
            )

    def _begin(self, stage: Stage, seed: int) -> StageState:
        model = LinkPredictor.build(stage.model, self.kg, seed=derive(seed, "weights"))
        if self._start is not None:
            self._start.fill(model)
        work = StageState(stage, model.to(self._device))
        torch.manual_seed(derive(seed, "dropout"))
        if self._saved is not None:
            work.load(self._saved, str(self.folder.path / run_files.STATE))
            restore_random(self._saved, self._device)
        self._start = self._saved = None
        return work

    def _save(self, work: StageState) -> None:
        if not self._processes.main:
            return
        rows = [dataclasses.asdict(row) for row in self._history]
        state = {**work.state(), "history": rows, "made_with": self._made_with()}
        self._states.save(state, self._device)
        self.folder.write(run_files.HISTORY, to_csv(self._history))

    def _load_state(self, names: list[str]) -> int:
        """Take the last complete state, if there is one; the number of the stage to resume."""
        self._saved = saved = self._states.load()
        if saved is None:
            return 0
        if saved["stage"] not in names:
            raise CheckpointError(
                f"{self.folder.path / run_files.STATE}: this plan has no stage {saved['stage']!r}"
            )
        self._history = to_rows(saved["history"])
        self._progress.message(f"Going on after epoch {saved['epoch']} of stage {saved['stage']!r}")
        made_with = {"processes": 1, **saved["made_with"]}
        for what, now in self._made_with().items():
            before = made_with.get(what)
            if before != now:
                self._progress.message(
                    f"Made with {what} {before}, going on with {now}: the result will be as good, "
                    "but not the same to the last bit"
                )
        return names.index(saved["stage"])

    def _made_with(self) -> dict[str, str | int]:
        """What the bits of a training depend on beside its settings."""
        return {
            "device": self._device.type,
            "processes": self._processes.size,
            "threads": self.config.runtime.threads,
            "torch": torch.__version__,
        }

    @contextmanager
    def _kept_best(self, work: StageState) -> Iterator[None]:
        """Store the best weights so far where a number is not finite."""
        try:
            yield
        except NumericError as error:
            self.folder.write(run_files.HISTORY, to_csv(self._history))
            if work.best is None:
                raise
            self.folder.write(run_files.MODEL, checkpoint.pack_weights(work.best))
            raise NumericError(
                f"{error}. The best weights so far, of epoch {work.stopping.best_epoch}, are kept "
                f"in {self.folder.path}"
            ) from None
