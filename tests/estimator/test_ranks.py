"""Ranks of triples with names that training has not seen, and the score of the low bin."""

import math

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from dglkgmix.errors import ConfigError
from dglkgmix.estimator import low_degree_mrr
from dglkgmix.estimator.ranks import degrees, filtered_ranks
from dglkgmix.kg.graph import KnowledgeGraph


class Constant:
    """Scores entity i by i."""

    num_entities = 4

    def query(self, heads, relations):
        return heads

    def scores(self, query, start, stop):
        return torch.arange(start, stop).float().expand(len(query), -1)


def graph():
    return KnowledgeGraph.from_arrays([[0, 0, 3], [0, 0, 1], [1, 0, 3]], entities=4, relations=1)


def test_known_answers_leave_and_x_counts_as_known():
    ranks = filtered_ranks(Constant(), graph(), np.array([[0, 0, 2], [0, 0, 0]]))
    # (0, 0, ?): 3 and 1 are known. Answer 2 has the highest score left; 0 the lowest of 2 and 0,
    # but 2 is an answer of X itself. (?, 0, 2): heads 0 to 3 by score, 0 last; (?, 0, 0) likewise.
    assert ranks.tolist() == [[1, 4], [1, 4]]


def test_an_unseen_name_ranks_in_the_middle():
    ranks = filtered_ranks(Constant(), graph(), np.array([[-1, 0, 3], [0, -1, 3]]))
    # Five candidates where the answer itself is unseen, four elsewhere.
    assert ranks.tolist() == [[2.5, 3.0], [2.5, 2.5]]


def test_degrees_of_both_queries():
    # Tail 3 has two heads under relation 0; head 0 two tails. Unseen names have none.
    assert degrees(graph(), np.array([[0, 0, 3], [0, 0, -1]])).tolist() == [[2, 2], [0, 0]]


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
