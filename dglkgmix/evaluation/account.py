"""The account of a model: what ``dglkgmix evaluate --json`` prints, also of several seeds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.calibration import degree_ece
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.kg.degrees import DegreeBins

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

# Degrees that span orders of magnitude.
WIDE = (1, 3, 10, 30, 100, 300, 1000)
DEGREES = ("head-in", "head-out", "tail-in", "tail-out", "other-relation")
KINDS = ("relation", "relation-class", *DEGREES, "joint", "macro", "ties")


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
        calibration: of :func:`dglkgmix.evaluation.calibration.assess_calibration`.
        shortlist: of :meth:`dglkgmix.evaluation.list_account.ListedAnswers.account`.
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


def details(table: RankTable, kg: KnowledgeGraph, kind: str) -> dict[str, Any]:
    """A further grouping of a rank table: what ``dglkgmix evaluate --by`` shows.

    Args:
        table: the ranks.
        kg: their graph.
        kind: ``relation`` and ``relation-class`` (1-1, 1-n, n-1, n-n by direction); a degree of
            the given entity (head) or the answer (tail) as the query sees them, or
            ``other-relation``, its in-degree less the tail-relation degree; ``joint``,
            tail-relation × other-relation degree; ``macro``, means over distinct queries and over
            relations; ``ties``, the other two tie rules.

    Returns:
        Groups by name with their metrics; for ``joint`` the names of ``rows`` and ``columns``,
        ``mrr`` and ``queries`` as lists of rows.
    """
    if kind in DEGREES:
        return metrics.by_degree(table, kind.replace("-", "_"), DegreeBins(WIDE))
    if kind == "joint":
        # The paper's Figure 2 c: its bins of the tail-relation degree, finer ones of the other.
        return metrics.joint(table, DegreeBins(), DegreeBins(WIDE))
    if kind == "relation":
        return metrics.by_relation(table)
    if kind == "relation-class":
        return metrics.by_relation_class(table, metrics.relation_classes(kg))
    if kind == "macro":
        return {over: metrics.macro(table, over) for over in ("queries", "relations")}
    return {ties: metrics.overall(table, ties) for ties in ("optimistic", "pessimistic")}


def over_seeds(accounts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One tree in place of one :func:`account` a seed: numbers become ``mean``, ``sd``, ``seeds``.

    ``sd`` is the sample's, None for a single seed. Numbers that are None in any account stay None;
    a text stays where it is that of all.
    """
    return {key: _combine([account[key] for account in accounts]) for key in accounts[0]}


def _combine(values: list[Any]) -> Any:
    if all(isinstance(value, dict) for value in values):
        return over_seeds(values)
    if all(isinstance(value, str) for value in values):
        return values[0] if len(set(values)) == 1 else None
    if any(value is None or isinstance(value, dict) for value in values):
        return None
    numbers = np.array(values, dtype=np.float64)
    spread = float(numbers.std(ddof=1)) if len(numbers) > 1 else None
    return {"mean": float(numbers.mean()), "sd": spread, "seeds": len(numbers)}
