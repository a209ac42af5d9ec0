"""Loss re-weighting: positives of low degree count more."""

from __future__ import annotations

from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import StrategyConfig, TrainingConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.strategies.base import Strategy


class Reweight(Strategy):
    """Positive terms with d < η weigh 1 + w, all others 1; then a batch's weights have mean 1."""

    reads = ("threshold", "reweight_up")
    scaled = True

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig[Never], training: TrainingConfig
    ) -> None:
        super().__init__(kg, config, training)
        low = kg.degrees.edge_tail_relation < config.threshold
        self._weights = 1.0 + config.reweight_up * low

    def positive_weights(self, edges: Tensor) -> Tensor | None:
        """1 + w or 1, before they are scaled."""
        return self._weights[edges]

    def coverage(self) -> dict[str, int]:
        """``below_threshold``: triples that weigh more."""
        low = self.kg.degrees.edge_tail_relation < self.config.threshold
        return {"below_threshold": int(low.sum())}
