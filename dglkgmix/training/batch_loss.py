"""The loss of a batch, L = L_KG + β L_Mix + penalties, for both regimes and every strategy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dglkgmix.models.encoder import Vectors
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatch
from dglkgmix.training.config import TrainingConfig
from dglkgmix.training.losses import (
    Focus,
    Offsets,
    Positives,
    Softmax,
    Targets,
    Terms,
    bce_terms,
    l2,
    n3,
    one_to_k_bce,
    one_to_k_ce,
    one_to_n_bce,
    one_to_n_bce_scores,
    one_to_n_ce,
    one_to_n_ce_scores,
    reduced,
    softmax_smoothing,
    synthetic_bce,
)
from dglkgmix.training.prepared import PreparedBatch, candidates, prepare
from dglkgmix.training.scoring import bias_of, scores_of_candidates
from dglkgmix.training.strategies import Strategy, SyntheticBatch


@dataclass(frozen=True)
class LossTerms:
    """What a batch costs.

    Attributes:
        loss: scalar with a gradient, L_KG + β L_Mix + penalties.
        kg_loss, synthetic_loss: scalars without one, L_KG and L_Mix (0 where nothing is mixed).
        positives: training triples of the batch.
        synthetic_samples: S.
        queries: queries that were encoded for L_KG.
    """

    loss: Tensor
    kg_loss: Tensor
    synthetic_loss: Tensor
    positives: int
    synthetic_samples: int
    queries: int


def batch_loss(
    model: LinkPredictor,
    vectors: Vectors,
    batch: QueryBatch | TripleBatch | PreparedBatch,
    strategy: Strategy,
    training: TrainingConfig,
) -> LossTerms:
    """The loss of a batch.

    Args:
        model: in train mode; on the device of ``vectors``.
        vectors: what ``model.encode`` gave for this batch.
        batch: of the regime that ``training`` names.
        strategy: after ``start_epoch``.
        training: the stage's options, nothing left at "auto" but the smoothing mass.

    Raises:
        ConfigError: options that do not go together.
    """
    if not isinstance(batch, PreparedBatch):
        batch = prepare(batch, strategy, training, model.num_entities)
    batch = batch.to(vectors.entities.device)
    scorer = _Scorer(model, vectors, _Objective.of(training, strategy.focus, model.num_entities))
    kg = reduced(scorer.real(batch) * batch.scale, batch.terms, training.reduction)
    mixed = reduced(scorer.mixed(batch, strategy), _size(batch.synthetic), training.reduction)
    loss = kg + strategy.config.synthetic_weight * mixed
    if training.n3 or training.l2:
        penalty = _penalty(model, vectors, batch.batch, training)
        loss = loss + reduced(penalty, len(batch.batch.tails), training.reduction)
    return LossTerms(
        loss=loss,
        kg_loss=kg.detach(),
        synthetic_loss=mixed.detach(),
        positives=len(batch.batch.tails),
        synthetic_samples=_size(batch.synthetic),
        queries=len(batch.batch),
    )


def _size(synthetic: SyntheticBatch | None) -> int:
    return 0 if synthetic is None else len(synthetic)


@dataclass(frozen=True)
class _Objective:
    """Which loss: exactly one of binary and softmax cross-entropy."""

    terms: Terms | None
    softmax: Softmax | None

    @classmethod
    def of(cls, training: TrainingConfig, focus: Focus | None, num_entities: int) -> _Objective:
        smoothing, mass = training.label_smoothing, training.smoothing_mass
        if training.loss == "ce":
            return cls(None, Softmax(softmax_smoothing(smoothing, mass), num_entities, focus))
        return cls(bce_terms(Targets.smoothed(smoothing, mass, num_entities), focus), None)


@dataclass(frozen=True)
class _Scorer:
    """Sums of terms of one batch."""

    model: LinkPredictor
    vectors: Vectors
    objective: _Objective

    def real(self, item: PreparedBatch) -> Tensor:
        """Σ of L_KG's terms, weighted but not scaled."""
        batch, offsets = item.batch, item.offsets
        query = self.model.query(self.vectors, batch.heads, batch.relations)
        if isinstance(batch, QueryBatch):
            assert offsets is None or isinstance(offsets, Offsets)  # noqa: S101 - for mypy
            positives = Positives(batch.rows, batch.tails, item.weights)
            return self._all(query, positives, offsets=offsets, with_bias=True)
        scores = self._candidates(query, candidates(batch), with_bias=True)
        if isinstance(offsets, Tensor):
            scores = scores + offsets
        return self._one_to_k(scores, batch.mask, item.weights)

    def mixed(self, item: PreparedBatch, strategy: Strategy) -> Tensor:
        """Σ of L_Mix's terms, 0 where nothing is mixed."""
        samples, batch = item.synthetic, item.batch
        if samples is None:
            return torch.zeros((), device=self.vectors.entities.device)
        query = self.model.mixed_query(self.vectors, samples.first, samples.second, samples.lam)
        with_bias, tails = strategy.config.synthetic_bias, samples.first[:, 2]
        if self.objective.terms is not None:
            scores = self._candidates(query, tails.unsqueeze(1), with_bias=with_bias)
            return synthetic_bce(scores, self.objective.terms)
        if isinstance(batch, QueryBatch):
            positives = Positives(torch.arange(len(tails), device=tails.device), tails)
            return self._all(query, positives, with_bias=with_bias)
        chosen = candidates(batch)[samples.positions]
        scores = self._candidates(query, chosen, with_bias=with_bias)
        return self._one_to_k(scores, batch.mask[samples.positions], None)

    def _candidates(self, query: Tensor, ids: Tensor, *, with_bias: bool) -> Tensor:
        return scores_of_candidates(self.model, self.vectors, query, ids, with_bias=with_bias)

    def _all(
        self,
        query: Tensor,
        positives: Positives,
        *,
        offsets: Offsets | None = None,
        with_bias: bool,
    ) -> Tensor:
        """Terms of queries (B, D) against all entities."""
        model, objective = self.model, self.objective
        entities, bias = self.vectors.entities, bias_of(self.model, with_bias)
        if not model.decoder.is_bilinear:
            scores = model.decoder.score_all(query, entities, bias)
            if objective.softmax is not None:
                return one_to_n_ce_scores(scores, positives, objective.softmax, offsets=offsets)
            return one_to_n_bce_scores(scores, positives, _the(objective.terms))
        if objective.softmax is not None:
            softmax = objective.softmax
            return one_to_n_ce(query, entities, bias, positives, softmax, offsets=offsets)
        return one_to_n_bce(query, entities, bias, positives, _the(objective.terms))

    def _one_to_k(self, scores: Tensor, mask: Tensor, weights: Tensor | None) -> Tensor:
        """Terms of scores (B, 1 + K): the true tail first, then the negatives."""
        true, others = scores[:, 0], scores[:, 1:]
        if self.objective.softmax is not None:
            return one_to_k_ce(true, others, mask, self.objective.softmax, weights=weights)
        return one_to_k_bce(true, others, mask, _the(self.objective.terms), weights=weights)


def _the(terms: Terms | None) -> Terms:
    assert terms is not None  # noqa: S101 - for mypy
    return terms


def _penalty(
    model: LinkPredictor,
    vectors: Vectors,
    batch: QueryBatch | TripleBatch,
    training: TrainingConfig,
) -> Tensor:
    """Σ over the batch's positives of the penalties on head, relation and tail vector."""
    counts = None
    if isinstance(batch, QueryBatch):
        counts = torch.bincount(batch.rows, minlength=len(batch))
    parts = (
        (vectors.entity(batch.heads), counts),
        (vectors.relation(batch.relations), counts),
        (vectors.entity(batch.tails), None),
    )
    total = torch.zeros((), device=vectors.entities.device)
    for vector, count in parts:
        squares = model.decoder.squared_moduli(vector)
        if training.n3:
            total = total + training.n3 * n3(squares, count)
        if training.l2:
            total = total + training.l2 * l2(squares, count)
    return total
