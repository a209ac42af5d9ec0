"""Further groupings of a rank table, by name: what ``dglkgmix evaluate --by`` shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.kg.degrees import DegreeBins

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

# Degrees that span orders of magnitude.
WIDE = (1, 3, 10, 30, 100, 300, 1000)
DEGREES = {
    "head-in": "head_in",
    "head-out": "head_out",
    "tail-in": "tail_in",
    "tail-out": "tail_out",
    "other-relation": "other_relation",
}
KINDS = ("relation", "relation-class", *DEGREES, "joint", "macro", "ties")


def details(table: RankTable, kg: KnowledgeGraph, kind: str) -> dict[str, Any]:
    """One grouping.

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
        return metrics.by_degree(table, DEGREES[kind], DegreeBins(WIDE))
    if kind == "joint":
        return _joint(table)
    if kind == "relation":
        return metrics.by_relation(table)
    if kind == "relation-class":
        return metrics.by_relation_class(table, metrics.relation_classes(kg))
    if kind == "macro":
        return {over: metrics.macro(table, over) for over in ("queries", "relations")}
    return {ties: metrics.overall(table, ties) for ties in ("optimistic", "pessimistic")}


def _joint(table: RankTable) -> dict[str, Any]:
    """The paper's Figure 2 c: its bins of the tail-relation degree, finer ones of the other."""
    rows, columns = DegreeBins(), DegreeBins(WIDE)
    mrr, queries = metrics.joint(table, rows, columns)
    cells = [[None if math.isnan(value) else value for value in row] for row in mrr.tolist()]
    return {
        "rows": list(rows.names),
        "columns": list(columns.names),
        "mrr": cells,
        "queries": queries.tolist(),
    }
