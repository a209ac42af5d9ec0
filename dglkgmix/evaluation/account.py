"""The account of a model: what ``dglkgmix evaluate --json`` prints."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.calibration import degree_ece
from dglkgmix.evaluation.rank_table import RankTable

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins


def account(
    table: RankTable,
    bins: DegreeBins,
    calibration: dict[str, Any] | None = None,
    shortlist: dict[str, Any] | None = None,
    new: Collection[str] = (),
) -> dict[str, Any]:
    """Everything there is to say of one model on one split, unrounded.

    Args:
        table: its ranks.
        bins: bins of the tail-relation degree.
        calibration: what :func:`dglkgmix.evaluation.calibration.report` found, where the model's
            scores of false triples are at hand.
        shortlist: what :meth:`dglkgmix.evaluation.list_account.ListedAnswers.account` found, where
            there are probabilities of ranked answers.
        new: entities that the run a training started from does not know.

    Returns:
        ``overall``, ``directions.{head,tail}`` and ``bins.<name>``, each with mrr, mr, hits@1,
        hits@3, hits@10, amri and queries; ``ece.{overall,<name>}``, the paper's; ``calibration``
        and ``shortlist``; ``entities.{old,new}`` as ``overall``, None without new ones;
        ``candidates``: their ``rule``, how many answers are ``missed``, being no candidates, and
        their ``share``. A group without queries has ``queries`` 0 and None for the rest.
    """
    return {
        "overall": metrics.overall(table),
        "directions": metrics.by_direction(table),
        "bins": metrics.by_bin(table, bins),
        "ece": degree_ece(table, bins),
        "calibration": calibration,
        "shortlist": shortlist,
        "entities": metrics.by_age(table, new) if new else None,
        "candidates": {
            "rule": table.rule,
            "missed": int(table["missed"].sum()),
            "share": float(table["missed"].mean()) if len(table) else None,
        },
    }
