"""Logit adjustment: train on s + τ · log p(t | r), rank with s (after Menon et al., 2021)."""

from __future__ import annotations

import torch
from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import StrategyConfig, TrainingConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.keys import expand, find
from dglkgmix.losses.targets import Offsets
from dglkgmix.strategies.base import Strategy


class LogitAdjustment(Strategy):
    """p(t | r) = (c + a) / (n + a |V|): c of the n training triples of r have the tail t."""

    reads = ("tau", "adjustment_smoothing")
    losses = ("ce",)

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig[Never], training: TrainingConfig
    ) -> None:
        super().__init__(kg, config, training)
        self.adjustment = LogPrior(kg, config.tau, config.adjustment_smoothing)


class LogPrior:
    """τ · log p(t | r), less what it is for tails that r never has.

    That is τ · log(1 + c / a) for the tails that r has in training, and 0 for all others: one
    number for each pair, never one for each relation and entity.
    """

    def __init__(self, kg: KnowledgeGraph, tau: float, smoothing: float) -> None:
        self._num_entities = kg.num_entities
        self._keys = kg.degrees.pair_keys
        self._values = (tau * torch.log1p(kg.degrees.pair_degrees.double() / smoothing)).float()
        sizes = torch.bincount(self._keys // kg.num_entities, minlength=kg.num_query_relations)
        self._indptr = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)])

    def entries(self, relations: Tensor) -> Offsets:
        """Of queries with relations (B,): one entry for each training tail of the relation."""
        begin = self._indptr[relations]
        rows, positions = expand(begin, self._indptr[relations + 1] - begin)
        tails = self._keys[positions] % self._num_entities
        return Offsets(rows, tails, self._values[positions])

    def at(self, relations: Tensor, candidates: Tensor) -> Tensor:
        """Of candidates (B, C) of queries with relations (B,), (B, C)."""
        position = find(self._keys, relations.unsqueeze(1) * self._num_entities + candidates)
        return torch.where(position < 0, 0.0, self._values[position])
