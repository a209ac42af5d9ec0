"""The goal that early stopping and the choice of the best epoch follow, as weights of queries."""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.config.goal import MRR, goal_parts
from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph


def goal_weights(select: str, kg: KnowledgeGraph, queries: EvalQueries) -> Tensor:
    """(Q,) float64: the goal is the sum over queries of weight / rank.

    Raises:
        ConfigError: as :func:`goal_parts`, and where no query falls into a bin.
    """
    bins = DegreeBins()
    groups = bins.assign(kg.degrees.tail_relation(queries.answers, queries.relations))
    weights = torch.zeros(len(queries), dtype=torch.float64)
    for name, share in goal_parts(select).items():
        inside = groups >= 0 if name == MRR else groups == bins.names.index(name)
        if not inside.any():
            raise ConfigError(
                f"training.select {select!r}: no validation query falls into {name!r}: "
                "select by another bin or by mrr"
            )
        weights[inside] += share / int(inside.sum())
    return weights
