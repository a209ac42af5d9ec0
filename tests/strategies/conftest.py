"""A graph of five triples whose degrees can be counted on one hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from dglkgmix.config.classes import find
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.strategies import Strategy
from tests.settings import settled_strategy, settled_training

# Edges 0-4, then their reciprocals 5-9:
#   0 (1, r0, 0)   1 (2, r0, 0)   2 (3, r0, 0)   3 (4, r1, 0)   4 (1, r1, 2)
#   5 (0, r2, 1)   6 (0, r2, 2)   7 (0, r2, 3)   8 (0, r3, 4)   9 (2, r3, 1)
# d_tail is 3 for edges 0-2 and 1 for all others.
TRIPLES = [[1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 1, 0], [1, 1, 2]]


@pytest.fixture
def five() -> KnowledgeGraph:
    kg = KnowledgeGraph.from_arrays(TRIPLES, entities=5, relations=2)
    assert kg.degrees.edge_tail_relation.tolist() == [3, 3, 3, 1, 1, 1, 1, 1, 1, 1]
    return kg


@pytest.fixture
def everything() -> torch.Tensor:
    """All ten edges."""
    return torch.arange(10)


@pytest.fixture
def make(five: KnowledgeGraph) -> Callable[..., Strategy]:
    """``make(name, threshold=…, regime=…, loss=…, …)`` on that graph."""

    def build(name: str, *, regime: str = "1-n", loss: str = "bce", **options: object) -> Strategy:
        training = settled_training(regime=regime, loss=loss)
        return find("strategy", name)(five, settled_strategy(name=name, **options), training)

    return build


@pytest.fixture
def started(make: Callable[..., Strategy]) -> Callable[..., Strategy]:
    """The same at the beginning of an epoch: ``started(name, epoch=1, seed=0, …)``."""

    def begin(name: str, *, epoch: int = 1, seed: int = 0, **options: object) -> Strategy:
        strategy = make(name, **options)
        strategy.start_epoch(epoch, seed)
        return strategy

    return begin
