"""The training as a whole: fit → stage → epoch → batch. It knows no strategy or model by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from typing_extensions import Never

from dglkgmix.config import Config, RuntimeConfig, Settled
from dglkgmix.config.checks import validate, validate_for
from dglkgmix.config.goal import MRR
from dglkgmix.errors import CheckpointError, NumericError
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE, Processes
from dglkgmix.runs import checkpoint, run_files
from dglkgmix.runs.history import Row, to_csv, to_rows
from dglkgmix.runs.results import Result, Selection, write_results
from dglkgmix.runs.state_file import StateFile, restore_random
from dglkgmix.sampling.seeds import derive
from dglkgmix.training.defaults import resolve
from dglkgmix.training.device import seeded, use_threads
from dglkgmix.training.goal import goal_weights
from dglkgmix.training.memory import fitting_block
from dglkgmix.training.parallel import check_devices, check_inputs
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import StageLoop
from dglkgmix.training.stage_state import StageState, set_tables
from dglkgmix.training.stages import Stage, stages


class Observer(Protocol):
    """Sees every finished epoch."""

    def write(self, row: Row) -> None:
        """Take one row of the history."""


class Trainer:
    """Trains on ``kg`` as ``config`` says and leaves everything in ``folder``.

    Args:
        kg: the graph; its validation split selects the epoch.
        config: "auto" and "same" are settled here.
        folder: a run folder under this process's lock.
        resume: go on from the folder's last complete state, if it has one.
        progress: what a person sees.
        observers: get each row of the history.
        weights: (M,) factors of the positives' terms, a row of ``kg.edges`` each.
        processes: those that train this together, each with a trainer of its own; all but the
            main one have a :class:`~dglkgmix.runs.spectator.Spectator` as folder and print nothing.

    Raises:
        ConfigError: options that make no sense, alone, together or on this graph.
        CheckpointError: a state or pre-trained tables that do not fit.
        PeerError: another of the processes is gone.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        config: Config,
        folder: RunFolder,
        *,
        resume: bool = False,
        progress: Progress | None = None,
        observers: Sequence[Observer] = (),
        weights: torch.Tensor | None = None,
        processes: Processes = ALONE,
    ) -> None:
        self.kg, self.config, self.folder = kg, self.check(kg, config), folder
        self._resume, self._weights, self._processes = resume, weights, processes
        self._observers = observers if processes.main else ()
        self._progress = (progress if processes.main else None) or Progress()
        self._device = torch.device(self.config.runtime.device)
        check_devices(self._device, processes)
        self._runtime = self._fitting(self.config.runtime)
        self._states = StateFile(folder, self.config.runtime.save_every)
        self._history: list[Row] = []
        self._coverage: dict[str, int] = {}
        self._tables = self._read_pretrained()

    @staticmethod
    def check(kg: KnowledgeGraph, config: Config) -> Settled:
        """The settled ``config``, or a ConfigError that says what is wrong with it."""
        validate(config)
        settled = resolve(config, kg)
        validate_for(settled, kg)
        if settled.training.select != MRR:
            goal_weights(settled.training.select, kg, evaluation_queries(kg, "valid"))
        return settled

    def fit(self) -> Result:
        """Run every stage that is not done yet, and write the results.

        The caller's random state and number of threads are as before afterwards.

        Raises:
            NumericError: a loss or gradient that is not finite; the best weights so far are kept.
        """
        runtime = self._runtime
        with use_threads(runtime.threads), seeded(runtime.seed, self._device):
            check_inputs(self.kg, self.config, self._processes)
            self._write_inputs()
            selection = self._stages()
            model = self._selected_model(selection)
            self._progress.message("Ranking the validation and test triples")
            return write_results(
                self.folder,
                self.kg,
                model,
                selection,
                history=self._history,
                epoch_limit=self.config.training.epochs,
                block=runtime.block,
                coverage=self._coverage,
                select=self.config.training.select,
                processes=self._processes,
            )

    def _read_pretrained(self) -> run_files.Tables | None:
        """Given tables, where no state holds what has become of them."""
        if self._resume and self.folder.has(run_files.STATE):
            return None
        return run_files.given_tables(self.config, self.kg)

    def _fitting(self, runtime: RuntimeConfig[Never]) -> RuntimeConfig[Never]:
        """Smaller blocks of scores where memory is short; they change no rank."""
        fitting = fitting_block(runtime.block, self._device, self._processes.neighbours)
        block = min(self._processes.gathered(fitting))
        if block < runtime.block:
            self._progress.message(
                f"Memory is short: evaluating in blocks of {block:,} scores, not {runtime.block:,}"
            )
        return dataclasses.replace(runtime, block=block)

    def _write_inputs(self) -> None:
        """Names and triples, then the settings: a folder that has those can be resumed."""
        if not self.folder.has(run_files.CONFIG):
            run_files.write_graph(self.folder, self.kg)
        run_files.write_config(self.folder, self.config)

    def _stages(self) -> Selection:
        if not len(self.kg.valid):
            self._progress.message(
                "No validation triples: every epoch is trained and the last weights are kept"
            )
        plan = stages(self.config)
        first, begin = 0, _Beginning(tables=self._given_tables())
        saved = self._load_state(plan)
        if saved is not None:
            first = [stage.name for stage in plan].index(saved["stage"])
            begin = _Beginning(saved=saved)
        del saved  # What a stage begins with is nobody's but its own: it drops it once it has.
        for number in range(first, len(plan) - 1):
            begin = _Beginning(_tables_of(self._stage(plan[number], number, begin).weights))
        return self._stage(plan[-1], len(plan) - 1, begin)

    def _stage(self, stage: Stage, number: int, begin: _Beginning) -> Selection:
        """Train one stage, from random weights, given tables or a saved state, to its result."""
        seed = self._stage_seed(number)
        work = self._begin(stage, seed, begin)
        loop = StageLoop(
            self.kg,
            work,
            self._runtime,
            seed=seed,
            progress=self._progress,
            weights=self._weights,
            processes=self._processes,
        )
        self._coverage = loop.strategy.coverage()
        self._tell_coverage(stage)
        with self._kept_best(work):
            with self._shown(work, len(loop)):
                while not work.over:
                    self._record(work, loop.epoch())
                self._save(work)
            selection = loop.select()
        self._note_late(selection)
        self._tell_unaveraged(work)
        return selection

    def _tell_unaveraged(self, work: StageState) -> None:
        swa = work.stage.swa
        if swa.enabled and not work.averaging.count:
            self._progress.message(
                f"Averaging did not begin: training ended before an epoch from {swa.start} on that "
                f"{swa.every} divides (swa.start, swa.every). The best epoch is the result"
            )

    def _tell_coverage(self, stage: Stage) -> None:
        counts = [f"{value:,} {key.replace('_', ' ')}" for key, value in self._coverage.items()]
        if counts:
            self._progress.message(f"{stage.strategy.name}: {', '.join(counts)}")

    def _stage_seed(self, number: int) -> int:
        """With tables from another run, the main stage draws as if it had been the second."""
        return derive(self.config.runtime.seed, "stage", number + bool(self.config.pretrain.run))

    def _begin(self, stage: Stage, seed: int, begin: _Beginning) -> StageState:
        model = LinkPredictor.build(stage.model, self.kg, seed=derive(seed, "weights"))
        tables, saved = begin.take()
        if tables is not None:
            set_tables(model, *tables)
        work = StageState(stage, model.to(self._device))
        torch.manual_seed(derive(seed, "dropout"))
        if saved is not None:
            work.load(saved, str(self.folder.path / run_files.STATE))
            restore_random(saved, self._device)
        return work

    def _record(self, work: StageState, row: Row) -> None:
        self._history.append(row)
        self._progress.epoch(row)
        for observer in self._observers:
            observer.write(row)
        if self._states.is_due(work.epoch):
            self._save(work)

    def _save(self, work: StageState) -> None:
        if not self._processes.main:
            return
        rows = [dataclasses.asdict(row) for row in self._history]
        state = {**work.state(), "history": rows, "made_with": self._made_with()}
        self._states.save(state, self._device)
        self.folder.write(run_files.HISTORY, to_csv(self._history))

    def _load_state(self, plan: list[Stage]) -> dict[str, Any] | None:
        saved = self._states.load() if self._resume else None
        if saved is None:
            return None
        if saved["stage"] not in [stage.name for stage in plan]:
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
        return saved

    def _made_with(self) -> dict[str, str | int]:
        """What the bits of a training depend on beside its settings."""
        threads = self.config.runtime.threads
        return {
            "device": self._device.type,
            "processes": self._processes.size,
            "threads": threads,
            "torch": torch.__version__,
        }

    def _given_tables(self) -> _TablePair | None:
        tables, self._tables = self._tables, None
        return None if tables is None else (tables.entity_table, tables.relation_table)

    def _selected_model(self, selection: Selection) -> LinkPredictor:
        model = LinkPredictor.build(self.config.model, self.kg)
        model.load_state_dict(selection.weights)
        return model.to(self._device).eval()

    def _note_late(self, selection: Selection) -> None:
        """Add the validation after the last epoch, which the saved state must not know of."""
        if selection.late is not None:
            late = selection.late
            self._history[-1] = dataclasses.replace(
                self._history[-1], valid_mrr=late.mrr, valid_goal=late.goal
            )

    @contextmanager
    def _shown(self, work: StageState, batches: int) -> Iterator[None]:
        epochs = work.stage.training.epochs
        self._progress.start_stage(work.stage.name, work.epoch + 1, epochs, batches)
        try:
            yield
        finally:
            self._progress.end_stage()

    @contextmanager
    def _kept_best(self, work: StageState) -> Iterator[None]:
        """Whatever number goes wrong, the best weights so far are stored."""
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


_TablePair = tuple[torch.Tensor, torch.Tensor]


@dataclasses.dataclass
class _Beginning:
    """What a stage begins with, held until it has been taken: it is as large as the model.

    Attributes:
        tables: given entity and relation vectors; None for random ones.
        saved: the state to go on from, or None.
    """

    tables: _TablePair | None = None
    saved: dict[str, Any] | None = None

    def take(self) -> tuple[_TablePair | None, dict[str, Any] | None]:
        """Both; from then on this holds neither."""
        found = self.tables, self.saved
        self.tables = self.saved = None
        return found


def _tables_of(weights: dict[str, torch.Tensor]) -> _TablePair:
    return weights["encoder.entity_table"], weights["encoder.relation_table"]
