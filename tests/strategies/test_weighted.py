"""A user's own weights beside a strategy's."""

from __future__ import annotations

import torch

from dglkgmix.config import StrategyConfig
from dglkgmix.config.classes import find
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.strategies.weighted import Weighted, edge_weights
from tests.settings import settled_training

# (0, 0, 1) twice: edges are (0, 0, 1), (1, 0, 2), (2, 0, 0) and their reciprocals.
ROWS = [[0, 0, 1], [1, 0, 2], [0, 0, 1], [2, 0, 0]]


def test_copies_take_their_mean_and_both_directions_weigh_the_same() -> None:
    kg = KnowledgeGraph.from_arrays(ROWS)
    weights = edge_weights(kg, torch.tensor([1.0, 5.0, 4.0, 0.0], dtype=torch.float64))
    assert weights.tolist() == [2.5, 5.0, 0.0, 2.5, 5.0, 0.0]


def test_weights_multiply_the_strategys_own() -> None:
    kg = KnowledgeGraph.from_arrays(ROWS)
    own = torch.tensor([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    plain = find("strategy", "standard")(kg, StrategyConfig(), settled_training())
    edges = torch.tensor([5, 0, 0])
    assert Weighted(plain, own).positive_weights(edges).tolist() == [7.0, 2.0, 2.0]
    # Every pair (r, t) has one triple, below the threshold 2: re-weighting doubles each.
    config = StrategyConfig(name="reweight", threshold=2, reweight_up=1.0)
    reweight = find("strategy", "reweight")(kg, config, settled_training())
    wrapped = Weighted(reweight, own)
    assert wrapped.positive_weights(edges).tolist() == [14.0, 4.0, 4.0]
    assert wrapped.scaled == reweight.scaled
