"""Binary and softmax cross-entropy behind one face."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from dglkgmix.config import TrainingConfig
from dglkgmix.errors import ConfigError
from dglkgmix.kernels.one_to_n import (
    one_to_n_bce,
    one_to_n_bce_scores,
    one_to_n_ce,
    one_to_n_ce_scores,
)
from dglkgmix.kernels.table import Table
from dglkgmix.losses.one_to_k import one_to_k_bce, one_to_k_ce, synthetic_bce
from dglkgmix.losses.pointwise import Focus, bce_terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Offsets, Positives, Targets, softmax_smoothing


class Objective(Protocol):
    """Sums of loss terms, scalars; letters as in :mod:`dglkgmix.kernels.one_to_n`.

    Attributes:
        one_sided: whether a synthetic sample needs the score of its own tail alone.
    """

    one_sided: bool

    def of_products(
        self,
        query: Tensor,
        table: Table,
        bias: Tensor | None,
        positives: Positives,
        *,
        offsets: Offsets | None = None,
    ) -> Tensor:
        """1-N, from queries (B, D), table (E, D) and bias (E,)."""
        ...

    def of_scores(
        self, scores: Tensor, positives: Positives, *, offsets: Offsets | None = None
    ) -> Tensor:
        """1-N, from scores (B, E)."""
        ...

    def of_candidates(self, scores: Tensor, mask: Tensor, *, weights: Tensor | None) -> Tensor:
        """1-K, from scores (B, 1 + K) of true tails and their negatives, mask (B, K)."""
        ...

    def of_synthetic(self, scores: Tensor, *, weights: Tensor | None = None) -> Tensor:
        """From scores (S,) of synthetic samples' own tails; where ``one_sided``."""
        ...


class Binary:
    """Binary cross-entropy with logits."""

    one_sided = True

    def __init__(self, targets: Targets, focus: Focus | None = None) -> None:
        self._terms = bce_terms(targets, focus)

    def of_products(
        self,
        query: Tensor,
        table: Table,
        bias: Tensor | None,
        positives: Positives,
        *,
        offsets: Offsets | None = None,
    ) -> Tensor:
        """Σ over B x E terms."""
        _refuse(offsets)
        return one_to_n_bce(query, table, bias, positives, self._terms)

    def of_scores(
        self, scores: Tensor, positives: Positives, *, offsets: Offsets | None = None
    ) -> Tensor:
        """Σ over B x E terms."""
        _refuse(offsets)
        return one_to_n_bce_scores(scores, positives, self._terms)

    def of_candidates(self, scores: Tensor, mask: Tensor, *, weights: Tensor | None) -> Tensor:
        """Σ over the terms that the mask leaves."""
        return one_to_k_bce(scores[:, 0], scores[:, 1:], mask, self._terms, weights=weights)

    def of_synthetic(self, scores: Tensor, *, weights: Tensor | None = None) -> Tensor:
        """Σ over S terms."""
        return synthetic_bce(scores, self._terms, weights=weights)


class CrossEntropy:
    """Softmax cross-entropy: one term for each positive."""

    one_sided = False

    def __init__(self, softmax: Softmax) -> None:
        self._softmax = softmax

    def of_products(
        self,
        query: Tensor,
        table: Table,
        bias: Tensor | None,
        positives: Positives,
        *,
        offsets: Offsets | None = None,
    ) -> Tensor:
        """Σ over P terms."""
        return one_to_n_ce(query, table, bias, positives, self._softmax, offsets=offsets)

    def of_scores(
        self, scores: Tensor, positives: Positives, *, offsets: Offsets | None = None
    ) -> Tensor:
        """Σ over P terms."""
        return one_to_n_ce_scores(scores, positives, self._softmax, offsets=offsets)

    def of_candidates(self, scores: Tensor, mask: Tensor, *, weights: Tensor | None) -> Tensor:
        """Σ over B terms."""
        return one_to_k_ce(scores[:, 0], scores[:, 1:], mask, self._softmax, weights=weights)

    def of_synthetic(self, scores: Tensor, *, weights: Tensor | None = None) -> Tensor:
        """Refused: a softmax needs rivals."""
        raise TypeError("softmax cross-entropy of a synthetic sample needs all its candidates")


def objective(training: TrainingConfig[Any], focus: Focus | None, num_entities: int) -> Objective:
    """The loss that the options name, over |V| entities.

    Raises:
        ConfigError: smoothing or mass out of range, or a mass that this loss has not.
    """
    smoothing, mass = training.label_smoothing, training.smoothing_mass
    if training.loss == "ce":
        return CrossEntropy(Softmax(softmax_smoothing(smoothing, mass), num_entities, focus))
    return Binary(Targets.smoothed(smoothing, mass, num_entities), focus)


def _refuse(offsets: Offsets | None) -> None:
    if offsets is not None:
        raise ConfigError("scores are adjusted for softmax cross-entropy alone: use loss 'ce'")
