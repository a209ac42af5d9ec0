"""What early stopping and the choice of the best epoch follow: a mean of MRRs on validation."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph

MRR = "mrr"


def goal_parts(select: str) -> dict[str, float]:
    """Part → weight, adding up to 1, of ``training.select``: ``"low"``, ``"zero=0.5,low=0.5"``.

    A part is ``mrr``, which is all queries, or the name of a degree bin.

    Raises:
        ConfigError: a part that is unknown or given twice, or a weight that is not above 0.
    """
    known = (MRR, *DegreeBins().names)
    parts: dict[str, float] = {}
    for text in select.split(","):
        name, given, weight = (piece.strip() for piece in text.partition("="))
        if name not in known or name in parts:
            fault = "given twice" if name in parts else "unknown"
            raise ConfigError(
                f"training.select {select!r}: {name!r} is {fault}: take one of "
                f"{', '.join(known)}, or weights of several, as in zero=0.5,low=0.5"
            )
        try:
            parts[name] = float(weight) if given else 1.0
        except ValueError:
            parts[name] = math.nan
        if not 0 < parts[name] < math.inf:
            raise ConfigError(
                f"training.select {select!r}: the weight of {name} must be a number above 0"
            )
    total = sum(parts.values())
    return {name: weight / total for name, weight in parts.items()}


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
