"""Ranks of triples that may hold names which training has never seen, and a score of the rare."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.estimator.columns import Array
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.queries import queries_of
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph


def filtered_ranks(
    scorer: ModelScorer,
    kg: KnowledgeGraph,
    triples: Array,
    candidates: Candidates | None = None,
) -> Array:
    """Realistic filtered ranks (n, 2) of triples (n, 3): of the tail, then of the head.

    A triple with an id of -1 is ranked as if all its candidates, the known entities and its own,
    scored the same: in the middle of them. ``candidates`` None are all entities.
    """
    seen = (triples >= 0).all(1)
    ranks = np.empty((len(triples), 2))
    rows = torch.from_numpy(triples[seen])
    index = kg.index_of(kg.train, kg.valid, kg.test, rows)
    found = rank(scorer, queries_of(kg, rows), index, candidates=candidates)
    ranks[seen] = found.rank.view(2, -1).T.numpy()
    for side, answer in enumerate((2, 0)):
        unknown_answer = triples[~seen][:, answer] < 0
        ranks[~seen, side] = (kg.num_entities + unknown_answer + 1) / 2
    return ranks


def degrees(kg: KnowledgeGraph, triples: Array) -> Array:
    """Tail-relation degrees (n, 2) of the tail and the head query; 0 where a name is unknown."""
    known = torch.from_numpy((triples >= 0).all(1))
    found = torch.zeros((len(triples), 2), dtype=torch.long)
    queries = queries_of(kg, torch.from_numpy(triples)[known])
    found[known] = kg.degrees.tail_relation(queries.answers, queries.relations).view(2, -1).T
    return found.numpy()


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
    bins = DegreeBins()
    groups = bins.assign(estimator.tail_relation_degree(X, y).ravel()).numpy()
    low = 1 / estimator.rank(X, y).ravel()[groups == bins.names.index("low")]
    return float(low.mean()) if len(low) else float(np.nan)
