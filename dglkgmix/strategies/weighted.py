"""Any strategy with factors of the user's own on the positives' terms."""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.strategies.base import Strategy, SyntheticBatch


class Weighted(Strategy):
    """``strategy``, its positive terms times the weights of their triples.

    Synthetic samples are not weighted: they belong to a triple and its partner alike.

    Args:
        strategy: the one that is wrapped.
        weights: (M,) float, a factor for each row of ``kg.edges``.
    """

    def __init__(self, strategy: Strategy, weights: Tensor) -> None:
        super().__init__(strategy.kg, strategy.config, strategy.training)
        self.strategy, self.weights = strategy, weights
        self.focus, self.scaled = strategy.focus, strategy.scaled
        self.adjustment = strategy.adjustment

    def start_epoch(self, epoch: int, seed: int) -> None:
        """As the wrapped strategy."""
        self.strategy.start_epoch(epoch, seed)

    def epoch_edges(self) -> Tensor | None:
        """As the wrapped strategy."""
        return self.strategy.epoch_edges()

    @property
    def extra_triples(self) -> int:
        """As the wrapped strategy."""
        return self.strategy.extra_triples

    def positive_weights(self, edges: Tensor) -> Tensor:
        """The wrapped strategy's factors times the triples' own (P,)."""
        own, given = self.weights[edges], self.strategy.positive_weights(edges)
        return own if given is None else own * given

    def synthetic(self, edges: Tensor) -> SyntheticBatch | None:
        """As the wrapped strategy."""
        return self.strategy.synthetic(edges)

    def coverage(self) -> dict[str, int]:
        """As the wrapped strategy."""
        return self.strategy.coverage()


def edge_weights(kg: KnowledgeGraph, rows: Tensor) -> Tensor:
    """Weights (N,) of ``kg.train``'s rows as weights (M,) of ``kg.edges``.

    Both directions of a triple weigh the same; copies of one triple take their mean.
    """
    half = kg.num_edges // 2
    total = torch.zeros(half, dtype=rows.dtype).index_add_(0, kg.train_edges, rows)
    mean = total / kg.train_edges.bincount(minlength=half)
    return mean.repeat(2).float()
