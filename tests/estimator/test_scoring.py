"""The scorer for the low bin."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from dglkgmix.errors import ConfigError
from dglkgmix.estimator import low_degree_mrr


class Ranked:
    """Ranks and degrees as given."""

    def __init__(self, degrees):
        self.degrees = degrees

    def rank(self, X, y=None):
        return np.array([[1.0, 2.0], [4.0, 5.0]])

    def tail_relation_degree(self, X, y=None):
        return np.array(self.degrees)


def swapped(X):
    """Tails for heads, so that a result shows whether X went through the steps before."""
    return X[:, ::-1]


def test_within_pipelines_and_searches(fitted, triples):
    expected = low_degree_mrr(fitted, triples)
    assert 0 < expected < 1
    assert low_degree_mrr(Pipeline([("kg", fitted)]), triples) == expected
    swap = ("swap", FunctionTransformer(swapped))
    longer = Pipeline([swap, ("pass", "passthrough"), ("kg", fitted)])
    assert low_degree_mrr(longer, triples[:, ::-1]) == expected
    search = GridSearchCV(
        Pipeline([swap, ("kg", clone(fitted))]),
        {"kg__threshold": [3, 5]},
        scoring=low_degree_mrr,
        cv=KFold(2, shuffle=True, random_state=0),
    ).fit(triples[:, ::-1])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_[-1]
    assert low_degree_mrr(search, triples[:, ::-1]) == low_degree_mrr(best, triples)
    with pytest.raises(ConfigError, match="ends with one, not Ridge"):
        low_degree_mrr(Pipeline([("kg", fitted), ("last", Ridge())]), triples)


def test_queries_from_one_to_below_ten_count():
    # Degrees 1 and 9 are low, 0 and 10 are not: (1 + 1/5) / 2.
    assert low_degree_mrr(Ranked([[1, 0], [10, 9]]), None) == 0.6
    assert math.isnan(low_degree_mrr(Ranked([[0, 0], [10, 60]]), None))
