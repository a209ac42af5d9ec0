"""Over-sampling: pairs (relation, tail) with few triples show each of them more often."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import StrategyConfig, TrainingConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling.seeds import generator
from dglkgmix.strategies.base import Strategy


class Oversample(Strategy):
    """Each pair with d < η gets η - d extra draws an epoch, uniformly from its own d triples.

    An extra draw is one more positive term in 1-N, and one more triple with negatives of its own
    in 1-K (Shomer et al., 2023, 6.1.2).
    """

    reads = ("threshold",)

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig[Never], training: TrainingConfig
    ) -> None:
        super().__init__(kg, config, training)
        # Triples sorted by pair, so that a pair's own stand side by side.
        pairs = kg.edges[:, 1] * kg.num_entities + kg.edges[:, 2]
        ordered, self._order = torch.sort(pairs, stable=True)
        _, degrees = torch.unique_consecutive(ordered, return_counts=True)
        begin = degrees.cumsum(0) - degrees
        low = degrees < config.threshold
        self._degrees, self._begin = degrees[low], begin[low]
        self._extra = torch.empty(0, dtype=torch.long)
        self._counts = torch.ones(kg.num_edges)

    def start_epoch(self, epoch: int, seed: int) -> None:
        """Draw the epoch's extra triples."""
        pair = torch.repeat_interleave(self.config.threshold - self._degrees)
        chance = torch.rand(
            len(pair), generator=generator(seed, "oversample", epoch), dtype=torch.double
        )
        within = (chance * self._degrees[pair]).long()
        self._extra = self._order[self._begin[pair] + within]
        self._counts = 1.0 + torch.bincount(self._extra, minlength=self.kg.num_edges)

    def epoch_edges(self) -> Tensor | None:
        """All triples, then the extra ones."""
        return torch.cat([torch.arange(self.kg.num_edges), self._extra])

    @property
    def extra_triples(self) -> int:
        """η - d for each pair below η."""
        return int((self.config.threshold - self._degrees).sum())

    def positive_weights(self, edges: Tensor) -> Tensor | None:
        """1-N: how often each triple counts.

        1-K repeats triples instead: there penalties and relation prediction count the extra ones,
        too.
        """
        return self._counts[edges] if self.training.regime == "1-n" else None

    def coverage(self) -> dict[str, int]:
        """``pairs_below_threshold`` and ``extra_per_epoch``."""
        return {
            "pairs_below_threshold": len(self._degrees),
            "extra_per_epoch": self.extra_triples,
        }
