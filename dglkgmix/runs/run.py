"""A run folder as a value: settings, graph, selected model, history, ranks and account."""

from __future__ import annotations

import json
import shlex
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from typing_extensions import Self

from dglkgmix.config import Config
from dglkgmix.config.classes import trusting
from dglkgmix.errors import CheckpointError, ConfigError
from dglkgmix.evaluation.calibration import fit_calibration
from dglkgmix.evaluation.candidates import Candidates, read_types
from dglkgmix.evaluation.list_probability import FEATURES, ListProbability, fit_on_validation
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.neighbours import Neighbour, Neighbours
from dglkgmix.evaluation.platt import Platt
from dglkgmix.evaluation.rank_table import RankTable, rank_split
from dglkgmix.files import RunFolder
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.options import ReadOptions
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.paths import readable
from dglkgmix.runs import checkpoint, run_files
from dglkgmix.runs.history import from_csv
from dglkgmix.runs.results import split_account


class Run:
    """A finished or interrupted training, read from its folder alone.

    Parts are read when they are first asked for; the source of the triples is not needed.

    Raises (any property):
        CheckpointError: names the file that is missing, damaged or does not fit the others.
    """

    trust = False

    def __init__(self, folder: RunFolder, device: str | torch.device = "cpu") -> None:
        self.folder = folder
        self.device = torch.device(device)

    @classmethod
    def open(
        cls, path: str | Path, *, device: str | torch.device = "cpu", trust: bool = False
    ) -> Run:
        """The run in the folder ``path``; its model goes to ``device``, wherever it was trained.

        ``trust`` lets it name a class outside of dglkgmix that is not imported yet: see
        :mod:`dglkgmix.config.classes`.
        """
        run = cls(RunFolder.open(path), device)
        run.trust = trust
        return run

    def among(self, rule: str | None = None, types: str | Path | None = None) -> Self:
        """This run with other candidates for ranks, lists and answers.

        Args:
            rule: one of :data:`~dglkgmix.evaluation.candidates.RULES`; None is the graph's default,
                which the stored ranks are of. Others are ranked anew, and the probability of ranked
                answers is fitted anew.
            types: a file of entities' types in place of a rule; see
                :func:`~dglkgmix.evaluation.candidates.read_types`.

        Raises:
            ConfigError: both are given, an unknown rule, or one that the graph has nothing for.
            DataError: a file of types that cannot be used.
        """
        found = None
        if types is not None:
            found = read_types(types, self.kg, ReadOptions(**self.config.data.reading))
        other = copy(self)
        other.candidates = Candidates.of(self.kg, rule, found)
        return other

    @cached_property
    def candidates(self) -> Candidates:
        """The entities that may answer: the graph's default, or what :meth:`among` was given."""
        return Candidates.of(self.kg)

    @property
    def path(self) -> Path:
        """The folder."""
        return self.folder.path

    @property
    def name(self) -> str:
        """The folder's own name, as tables and figures show it."""
        return readable(self.path.resolve().name)

    @property
    def finished(self) -> bool:
        """Whether training came to its end."""
        return self.folder.has(run_files.METRICS)

    @property
    def warning(self) -> str:
        """What whoever reads figures of an interrupted run must know; empty for a finished one."""
        if self.finished:
            return ""
        return (
            f"{self.path}: the training has not finished; this is about its best weights so far. "
            f"Go on with: dglkgmix train --resume --out {shlex.quote(str(self.path))}"
        )

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        return f"{type(self).__name__}({self.path}, {state})"

    @cached_property
    def config(self) -> Config:
        """The settings, nothing left at "auto"."""
        with trusting(self.trust):
            return run_files.read_config(self.folder)

    @cached_property
    def kg(self) -> KnowledgeGraph:
        """The graph that it was trained on."""
        return run_files.read_graph(self.folder)

    @cached_property
    def new_entities(self) -> frozenset[str]:
        """Those that the run it started from does not know; none where it started from no run."""
        return run_files.read_new(self.folder)

    @cached_property
    def model(self) -> LinkPredictor:
        """The model with the selected weights, in evaluation mode.

        Of an interrupted run it has the best weights of the last complete state.
        """
        if self.folder.has(run_files.MODEL):
            where = str(self.path / run_files.MODEL)
            weights = run_files.read_weights(self.folder)
        else:
            where = str(self.path / run_files.STATE)
            state = checkpoint.StateFile(self.folder, "auto").load()
            if state is None:
                raise CheckpointError(
                    f"{self.path}: interrupted before its first state was written"
                )
            weights = state["best"] or state["model"]
        try:
            run_files.check_tables(weights, self.config.model, self.kg, where)
            model = LinkPredictor.build(self.config.model, self.kg)
        except ConfigError as error:
            raise CheckpointError(f"{self.path / run_files.CONFIG}: {error}") from None
        checkpoint.load_weights(model, weights, where)
        return model.to(self.device).eval()

    @cached_property
    def scorer(self) -> ModelScorer:
        """Scores of the model."""
        return ModelScorer(self.model)

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """One dictionary an epoch; see :class:`dglkgmix.runs.history.Row`."""
        if not self.folder.has(run_files.HISTORY):
            return []
        where = str(self.path / run_files.HISTORY)
        return from_csv(self.folder.read(run_files.HISTORY), where)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """What ``metrics.json`` holds: epochs, best_epoch, seconds, valid and test.

        Raises:
            CheckpointError: the training has not finished.
        """
        if not self.finished:
            raise CheckpointError(
                f"{self.path}: the training has not finished; "
                f"resume with: dglkgmix train --resume --out {shlex.quote(str(self.path))}"
            )
        stored = self.folder.read(run_files.METRICS)
        try:
            values: dict[str, Any] = json.loads(stored)
        except ValueError as error:
            raise CheckpointError(f"{self.path / run_files.METRICS}: {error}") from None
        return values

    def rank_table(self, split: str = "test") -> RankTable:
        """The ranks of ``split``, "valid" or "test": those stored, else computed now."""
        name = run_files.ranks_name(split)
        if self.folder.has(name) and self._is_default:
            return RankTable.from_bytes(self.folder.read(name), self.path / name)
        block = self.config.runtime.block
        return rank_split(self.scorer, self.kg, split, block, candidates=self.candidates)

    def calibration(self) -> Platt | None:
        """Platt scaling against random false triples, as stored, else fitted now.

        None where there is no validation split.
        """
        if self.finished:
            stored = self.metrics["platt"]
            return None if stored is None else Platt(**stored)
        if not len(self.kg.valid):
            return None
        return fit_calibration(self.scorer, self.kg, self.rank_table("valid"))

    def list_probability(self) -> ListProbability | None:
        """The probability of ranked answers, as stored, else (as in runs of 0.1.0) fitted now.

        None where the validation split is missing or too small.
        """
        if self.finished and self._is_default and "shortlist" in self.metrics:
            stored = self.metrics["shortlist"]
            if stored is None or stored["weights"].keys() == set(FEATURES):
                return None if stored is None else ListProbability.from_dict(stored)
        return fit_on_validation(self.scorer, self.kg, self.candidates)

    def neighbours(self, name: str, top: int = 10, *, relation: bool = False) -> list[Neighbour]:
        """The entities nearest to the entity ``name``, or relations to the relation.

        Raises:
            UnknownNameError: a name that the graph lacks; the message lists close matches.
            ConfigError: ``top`` is below 1.
            NumericError: a vector is not finite.
        """
        return Neighbours(self.kg, self.model).of(name, top, relation=relation)

    def account(
        self, split: str = "test", bins: DegreeBins | None = None, *, table: RankTable | None = None
    ) -> dict[str, Any]:
        """What ``dglkgmix evaluate --json`` prints of ``split``, whose ranks may be given."""
        return split_account(
            self.scorer,
            self.kg,
            split,
            self.rank_table(split) if table is None else table,
            platt=self.calibration(),
            listed=self.list_probability(),
            new=self.new_entities,
            bins=bins,
            candidates=self.candidates,
        )

    @property
    def _is_default(self) -> bool:
        """Whether the candidates are those of what the folder stores."""
        return self.candidates.rule == Candidates.of(self.kg).rule
