"""Loss re-weighting: positives of low degree count more."""

from __future__ import annotations

from torch import Tensor

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training.config import StrategyConfig, TrainingConfig
from dglkgmix.training.strategies.base import Strategy


class Reweight(Strategy):
    """Positive terms with d < η weigh 1 + w, all others 1; then a batch's weights have mean 1.

    Raises:
        ConfigError: w of -1 or less, with which terms would vanish or be turned round.
    """

    scaled = True

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig, training: TrainingConfig
    ) -> None:
        super().__init__(kg, config, training)
        if config.reweight_up <= -1:
            raise ConfigError(f"strategy.reweight_up is {config.reweight_up}: it must be above -1")
        low = kg.degrees.edge_tail_relation < config.threshold
        self._weights = 1.0 + config.reweight_up * low

    def positive_weights(self, edges: Tensor) -> Tensor | None:
        """1 + w or 1, before they are scaled."""
        return self._weights[edges]

    def coverage(self) -> dict[str, int]:
        """``below_threshold``: triples that weigh more."""
        low = self.kg.degrees.edge_tail_relation < self.config.threshold
        return {"below_threshold": int(low.sum())}
