"""A batch together with what a strategy adds to it: everything that ids decide, ready to move."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.config import TrainingConfig
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.losses.targets import Offsets
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatch
from dglkgmix.strategies import Strategy, SyntheticBatch


@dataclass(frozen=True)
class Counts:
    """How many positives, synthetic samples and terms of L_Mix a batch has."""

    positives: int
    samples: int
    mixed_terms: int


@dataclass(frozen=True, eq=False)
class PreparedBatch:
    """What :func:`dglkgmix.training.batch_loss.batch_loss` works on.

    Attributes:
        batch: queries (1-N) or triples with negatives (1-K).
        weights: (P,) factors of the positives' terms, or None for 1.
        excess: Σ (w − 1) over the weights w of all terms, of all processes together; 0 where the
            weights are not brought to mean 1.
        terms: number of terms of L_KG, of all processes together, which "mean" divides by;
            counted only where it matters.
        synthetic: the batch's synthetic samples, or None.
        offsets: what is added to scores in training: sparse in 1-N, (B, 1 + K) in 1-K, or None.
        whole: counts of the batch that this is one process's part of; None where it is all of it.
    """

    batch: QueryBatch | TripleBatch
    weights: Tensor | None
    excess: float
    terms: int
    synthetic: SyntheticBatch | None
    offsets: Offsets | Tensor | None
    whole: Counts | None = None

    @property
    def counts(self) -> Counts:
        """Sizes of the whole batch, over all processes."""
        found = self.synthetic
        samples = 0 if found is None else len(found)
        terms = samples if found is None or found.terms is None else found.terms
        return self.whole or Counts(len(self.batch.tails), samples, terms)

    @property
    def scale(self) -> float:
        """Factor of all terms, which brings their weights to mean 1."""
        return self.terms / (self.terms + self.excess) if self.excess else 1.0

    def to(self, device: torch.device | str) -> PreparedBatch:
        """The same on another device, but for the ids of edges, which strategies look up.

        The copy to a GPU is from pinned memory and does not block.
        """
        moved: PreparedBatch = _moved(self, torch.device(device))
        return moved

    @property
    def hidden_edges(self) -> Tensor:
        """Rows of ``kg.edges`` whose tails are asked for: an encoder must not read them."""
        edges = self.batch.edges
        if self.synthetic is None:
            return edges
        return torch.cat([edges, self.synthetic.partners.to(edges.device)])

    def nodes(self) -> Tensor | None:
        """Entities whose vectors the batch needs, distinct; None for all of them (1-N)."""
        if isinstance(self.batch, QueryBatch):
            return None
        ids = [self.batch.heads, self.batch.tails, self.batch.negatives.view(-1)]
        if self.synthetic is not None:
            ids.append(self.synthetic.second[:, 0])
        return torch.cat(ids).unique()  # type: ignore[no-untyped-call,no-any-return]


def prepare(
    batch: QueryBatch | TripleBatch,
    strategy: Strategy,
    training: TrainingConfig,
    num_entities: int,
    own: Tensor | None = None,
) -> PreparedBatch:
    """What ``strategy`` adds to a batch. Needs no model: it may run ahead of the device.

    ``own`` (M,) are a user's factors of the triples ``kg.edges``: they multiply the strategy's.
    Synthetic samples have none: they belong to a triple and its partner alike.

    Raises:
        ConfigError: the strategy's weights are not one for each positive.
    """
    edges = batch.edges.cpu()
    weights, synthetic = strategy.positive_weights(edges), strategy.synthetic(edges)
    if weights is not None and weights.shape != edges.shape:
        raise ConfigError(
            f"{type(strategy).__name__}.positive_weights gives {tuple(weights.shape)} numbers for "
            f"positives of shape {tuple(edges.shape)}: give one for each"
        )
    if own is not None:
        weights = own[edges] if weights is None else own[edges] * weights
    terms, excess = 0, 0.0
    if strategy.scaled or training.reduction == "mean":
        terms = len(batch.tails)
        if training.loss == "bce":
            if isinstance(batch, QueryBatch):
                terms = len(batch) * num_entities
            else:
                terms += int(batch.mask.sum())
    if strategy.scaled and weights is not None:
        # All terms but the positives' weigh 1.
        excess = float((weights.double() - 1).sum())
    offsets: Offsets | Tensor | None = None
    if (adjustment := strategy.adjustment) is not None:
        if isinstance(batch, QueryBatch):
            offsets = adjustment.entries(batch.relations.cpu())
        else:
            relations = batch.of_positives(batch.relations).cpu()
            offsets = adjustment.at(relations, candidates(batch).cpu())
    return PreparedBatch(
        batch=batch,
        weights=weights,
        excess=excess,
        terms=terms,
        synthetic=synthetic,
        offsets=offsets,
    )


def as_weights(sample_weight: Any, count: int) -> Tensor:
    """Weights of ``count`` triples, as a user gives them: (count,) double.

    Raises:
        DataError: another shape, a weight that is negative or not finite, or all zero.
    """
    try:
        weights = torch.as_tensor(np.asarray(sample_weight, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers: {error}") from None
    if weights.shape != (count,):
        raise DataError(f"sample_weight must have the shape ({count},), not {(*weights.shape,)}")
    if not weights.isfinite().all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative")
    if not weights.any():
        raise DataError("sample_weight: all weights are zero, so there is nothing to learn from")
    return weights


def edge_weights(kg: KnowledgeGraph, rows: Tensor) -> Tensor:
    """Weights (N,) of ``kg.train``'s rows as weights (M,) of ``kg.edges``.

    Both directions of a triple weigh the same; copies of one triple take their mean.
    """
    half = kg.num_edges // 2
    total = torch.zeros(half, dtype=rows.dtype).index_add_(0, kg.train_edges, rows)
    mean = total / kg.train_edges.bincount(minlength=half)
    return mean.repeat(2).float()


def candidates(batch: TripleBatch) -> Tensor:
    """The tail of each triple, then its negatives, (B, 1 + K)."""
    return torch.cat([batch.tails.unsqueeze(1), batch.negatives], 1)


def _moved(item: Any, device: torch.device) -> Any:
    if isinstance(item, Tensor):
        source = item.pin_memory() if device.type == "cuda" and item.device.type == "cpu" else item
        return source.to(device, non_blocking=True)
    if not dataclasses.is_dataclass(item) or isinstance(item, type):
        return item
    moved = {
        field.name: _moved(getattr(item, field.name), device)
        for field in dataclasses.fields(item)
        if field.name not in ("edges", "partners")
    }
    return dataclasses.replace(item, **moved)
