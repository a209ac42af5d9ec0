"""What a finished training leaves in its folder: weights, ranks, the account of both splits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dglkgmix.evaluation.account import account
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.ranking import rank
from dglkgmix.files import RunFolder
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training import checkpoint, run_files
from dglkgmix.training.history import Row, to_csv
from dglkgmix.training.stage_state import Selection

EVALUATED = ("valid", "test")


@dataclass(frozen=True)
class Result:
    """What ``dglkgmix train --json`` prints.

    Attributes:
        run: the folder.
        epochs: epochs of the main stage.
        best_epoch: the selected one, 1-based.
        seconds: of all epochs and stages, interrupted sessions included.
        valid, test: accounts as ``dglkgmix evaluate --json`` prints them; None for an empty split.
    """

    run: str
    epochs: int
    best_epoch: int
    seconds: float
    valid: dict[str, Any] | None
    test: dict[str, Any] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def rank_split(model: LinkPredictor, kg: KnowledgeGraph, split: str, block: int) -> RankTable:
    """The rank table of ``split`` under ``model``."""
    queries = evaluation_queries(kg, split)
    scorer = ModelScorer(model)
    ranks = rank(scorer, queries, kg.known_index, block=block, candidates=kg.node_types)
    return RankTable.from_ranks(kg, queries, ranks)


def write_results(
    folder: RunFolder,
    kg: KnowledgeGraph,
    model: LinkPredictor,
    selection: Selection,
    *,
    history: Sequence[Row],
    block: int,
) -> Result:
    """Evaluate the selected ``model`` on both splits and store everything.

    ``metrics.json`` is removed first and written last: a folder that has it is finished and whole.
    """
    for name in (run_files.METRICS, *map(run_files.ranks_name, EVALUATED)):
        if folder.has(name):
            folder.remove(name)
    folder.write(run_files.MODEL, checkpoint.pack_weights(model.state_dict()))
    folder.write(run_files.HISTORY, to_csv(history))
    accounts = {split: _account(folder, kg, model, split, block) for split in EVALUATED}
    result = Result(
        run=str(folder.path),
        epochs=history[-1].epoch,
        best_epoch=selection.epoch,
        seconds=sum(row.seconds for row in history),
        **accounts,
    )
    metrics = {key: value for key, value in result.to_dict().items() if key != "run"}
    folder.write(run_files.METRICS, json.dumps(metrics, indent=1, allow_nan=False).encode())
    return result


def _account(
    folder: RunFolder, kg: KnowledgeGraph, model: LinkPredictor, split: str, block: int
) -> dict[str, Any] | None:
    if not len(kg.split(split)):
        return None
    table = rank_split(model, kg, split, block)
    folder.write(run_files.ranks_name(split), table.to_bytes())
    return account(table, DegreeBins())
