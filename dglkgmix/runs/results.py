"""What a finished training leaves in its folder: weights, ranks, the account of both splits."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from dglkgmix.config.goal import MRR
from dglkgmix.evaluation.account import account
from dglkgmix.evaluation.calibration import assess_calibration, fit_calibration
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_account import listed_answers
from dglkgmix.evaluation.list_probability import ListProbability, fit_on_validation
from dglkgmix.evaluation.metrics import overall
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.platt import Platt
from dglkgmix.evaluation.popularity import PopularityScorer
from dglkgmix.evaluation.rank_table import RankTable, rank_split
from dglkgmix.files import RunFolder
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE, Processes
from dglkgmix.runs import checkpoint, run_files
from dglkgmix.runs.history import Row, to_csv

Weights = dict[str, Tensor]
EVALUATED = ("valid", "test")


@dataclass(frozen=True)
class Validation:
    """MRR over all validation queries, and the value that selection follows; fractions."""

    mrr: float
    goal: float


@dataclass(frozen=True)
class Selection:
    """What a stage ends with.

    Attributes:
        weights: of the selected epoch, on the CPU.
        epoch: that epoch, 1-based.
        goal: its value on the validation split of what ``training.select`` names, or None where
            there are no validation triples.
        late: a validation after the last epoch that ``validate_every`` did not ask for.
    """

    weights: Weights
    epoch: int
    goal: float | None
    late: Validation | None = None


@dataclass(frozen=True)
class Result:
    """What ``dglkgmix train --json`` prints.

    Attributes:
        run: the folder.
        epochs: epochs of the main stage, of at most ``epoch_limit``: fewer are early stopping.
        best_epoch: the selected one, 1-based.
        seconds: of all epochs and stages, interrupted sessions included.
        popularity_mrr: filtered MRR of ranking by popularity alone, on the test split, else on
            the validation split; None where both are empty.
        valid, test: accounts as ``dglkgmix evaluate --json`` prints them; None for an empty split.
    """

    run: str
    epochs: int
    epoch_limit: int
    best_epoch: int
    seconds: float
    popularity_mrr: float | None
    valid: dict[str, Any] | None
    test: dict[str, Any] | None

    @property
    def mrr(self) -> float | None:
        """Of the split that ``popularity_mrr`` is of."""
        account = self.test or self.valid
        return None if account is None else account["overall"]["mrr"]

    @property
    def length(self) -> str:
        """The selected epoch, and how many there were: ``best epoch 24 of 30``."""
        if self.valid is None:
            return f"epoch {self.best_epoch} of {self.epoch_limit}, the last one"
        stopped = self.epochs < self.epoch_limit
        early = f", stopped early after {self.epochs}" if stopped else ""
        return f"best epoch {self.best_epoch}{early} of {self.epoch_limit}"

    def __repr__(self) -> str:
        accounts = {"valid": self.valid, "test": self.test}
        parts = [f"{s} MRR {a['overall']['mrr']:.4f}" for s, a in accounts.items() if a]
        return f"Result({', '.join([self.run, self.length, *parts])})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def write_results(
    folder: RunFolder,
    kg: KnowledgeGraph,
    model: LinkPredictor,
    selection: Selection,
    *,
    history: Sequence[Row],
    epoch_limit: int,
    block: int,
    coverage: dict[str, int],
    select: str = MRR,
    processes: Processes = ALONE,
) -> Result:
    """Evaluate the selected ``model`` on both splits and store everything.

    ``metrics.json`` is removed first and written last: a folder that has it is finished and whole.
    Several processes share the ranking; the other figures take less than to send them.
    """
    for name in (run_files.METRICS, *map(run_files.ranks_name, EVALUATED)):
        folder.remove(name)
    folder.write(run_files.MODEL, checkpoint.pack_weights(model.state_dict()))
    folder.write(run_files.HISTORY, to_csv(history))
    scorer = ModelScorer(model)
    tables = {
        split: rank_split(scorer, kg, split, block, processes=processes)
        for split in EVALUATED
        if len(kg.split(split))
    }
    for split, table in tables.items():
        folder.write(run_files.ranks_name(split), table.to_bytes())
    platt = fit_calibration(scorer, kg, tables["valid"]) if "valid" in tables else None
    listed = fit_on_validation(scorer, kg)
    new = run_files.read_new(folder)
    accounts = {
        s: split_account(scorer, kg, s, table, platt=platt, listed=listed, new=new)
        for s, table in tables.items()
    }
    popularity = None
    if tables:
        ranked = rank_split(PopularityScorer(kg), kg, [*tables][-1], block, processes=processes)
        popularity = overall(ranked)["mrr"]
    result = Result(
        run=str(folder.path),
        epochs=history[-1].epoch,
        epoch_limit=epoch_limit,
        best_epoch=selection.epoch,
        seconds=sum(row.seconds for row in history),
        popularity_mrr=popularity,
        valid=accounts.get("valid"),
        test=accounts.get("test"),
    )
    metrics = {key: value for key, value in result.to_dict().items() if key != "run"}
    metrics["selection"] = {"by": select, "value": selection.goal}
    metrics["coverage"] = coverage
    metrics["platt"] = None if platt is None else asdict(platt)
    metrics["shortlist"] = None if listed is None else listed.to_dict()
    folder.write(run_files.METRICS, json.dumps(metrics, indent=1, allow_nan=False).encode())
    return result


def split_account(
    scorer: ModelScorer,
    kg: KnowledgeGraph,
    split: str,
    table: RankTable,
    *,
    platt: Platt | None,
    listed: ListProbability | None,
    new: Collection[str],
    bins: DegreeBins | None = None,
    candidates: Candidates | None = None,
) -> dict[str, Any]:
    """The account of ``split``, with calibration and shortlist where these were fitted.

    ``candidates`` are those of the ranks and of ``listed``; None is the graph's default.
    """
    bins = bins or DegreeBins()
    calibration = shortlist = None
    if platt is not None:
        calibration = assess_calibration(scorer, kg, split, table, platt=platt, bins=bins)
    if listed is not None:
        answers = listed_answers(scorer, kg, split, listed, candidates)
        shortlist = None if answers is None else answers.account(bins)
    return account(table, bins, calibration, shortlist, new)
