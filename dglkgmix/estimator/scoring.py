"""A scorer for model selection by the facts that are seldom seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from dglkgmix.errors import ConfigError
from dglkgmix.kg.degrees import DegreeBins


def low_degree_mrr(estimator: Any, X: Any, y: Any = None) -> float:
    """Filtered MRR of the queries whose answer is in the low bin: 1 ≤ d_tail < 10.

    Pass it as ``scoring=low_degree_mrr`` to ``cross_val_score`` or ``GridSearchCV``. Degrees are
    those of the triples that ``estimator`` was fitted on. NaN where no query is in the bin.

    Args:
        estimator: a fitted completer, a pipeline that ends with one, or a search over either.
        X: triples, as the estimator takes them.
        y: the tails, where X has two columns.

    Raises:
        ConfigError: an estimator that ends with no completer.
    """
    while not hasattr(estimator, "rank"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            X = estimator[:-1].transform(X) if len(estimator) > 1 else X
            estimator = estimator[-1]
        else:
            raise ConfigError(
                f"low_degree_mrr needs a KGCompleter, or a pipeline or search that ends with one, "
                f"not {type(estimator).__name__}"
            )
    ranks, degrees = estimator.rank(X, y), estimator.tail_relation_degree(X, y)
    bins = DegreeBins()
    low = bins.assign(degrees.ravel()).numpy() == bins.names.index("low")
    return float((1 / ranks.ravel()[low]).mean()) if low.any() else float(np.nan)
