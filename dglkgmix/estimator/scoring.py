"""A scorer for model selection by the facts that are seldom seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dglkgmix.kg.degrees import DegreeBins

if TYPE_CHECKING:
    from dglkgmix.estimator.completer import KGCompleter


def low_degree_mrr(estimator: KGCompleter, X: Any, y: Any = None) -> float:
    """Filtered MRR of the queries whose answer is in the low bin: 1 ≤ d_tail < 10.

    Pass it as ``scoring=low_degree_mrr`` to ``cross_val_score`` or ``GridSearchCV``. Degrees are
    those of the triples that ``estimator`` was fitted on. NaN where no query is in the bin.
    """
    ranks, degrees = estimator.rank(X, y), estimator.tail_relation_degree(X, y)
    bins = DegreeBins()
    low = bins.assign(degrees.ravel()).numpy() == bins.names.index("low")
    return float((1 / ranks.ravel()[low]).mean()) if low.any() else float(np.nan)
