"""Focal loss: terms that are nearly right count less."""

from __future__ import annotations

from typing_extensions import Never

from dglkgmix.config import StrategyConfig, TrainingConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.losses.pointwise import Focus
from dglkgmix.strategies.base import Strategy


class Focal(Strategy):
    """Each term times (1 - p_t)^γ: p_t is what the model gives the right answer to that term."""

    reads = ("gamma", "focal_detach")

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig[Never], training: TrainingConfig
    ) -> None:
        super().__init__(kg, config, training)
        self.focus = Focus(config.gamma, config.focal_detach)
