"""The loss of a batch, L = L_KG + β L_Mix + penalties + w L_relation, in both regimes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import TrainingConfig
from dglkgmix.errors import ConfigError
from dglkgmix.losses.penalties import l2, n3
from dglkgmix.losses.targets import Offsets, Positives, reduced
from dglkgmix.models.encoder import Vectors
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatch
from dglkgmix.sampling.rivals import Rivals
from dglkgmix.strategies import Strategy
from dglkgmix.training.objectives import Objective, objective
from dglkgmix.training.prepared import PreparedBatch, candidates, prepare
from dglkgmix.training.relations import relation_prediction
from dglkgmix.training.scoring import TableVectors, scores_of_candidates


@dataclass(frozen=True)
class LossTerms:
    """What a batch costs. A part of a shared batch has its part of the losses, and whole counts.

    Attributes:
        loss: scalar with a gradient, L_KG + β L_Mix + penalties + w L_relation.
        kg_loss, synthetic_loss: scalars without one, L_KG and L_Mix (0 where nothing is mixed).
        positives: training triples of the batch.
        synthetic_samples: S.
    """

    loss: Tensor
    kg_loss: Tensor
    synthetic_loss: Tensor
    positives: int
    synthetic_samples: int


def batch_loss(
    model: LinkPredictor,
    vectors: Vectors,
    batch: QueryBatch | TripleBatch | PreparedBatch,
    strategy: Strategy,
    training: TrainingConfig[Never],
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
    if batch.offsets is not None and training.loss != "ce":
        raise ConfigError("scores are adjusted for softmax cross-entropy alone: use loss 'ce'")
    vectors = TableVectors.of(vectors)
    scorer = _Scorer(model, vectors, objective(training, strategy.focus, model.num_entities))
    # The real queries last: going back, they begin the table's gradient, and the few rows of all
    # others are added to it.
    mixed = scorer.mixed(batch, with_bias=strategy.config.synthetic_bias)
    mixed = reduced(mixed, batch.counts.mixed_terms, training.reduction)
    others = strategy.config.synthetic_weight * mixed
    if training.n3 or training.l2:
        penalty = _penalty(model, vectors, batch.batch, training)
        others = others + reduced(penalty, batch.counts.positives, training.reduction)
    if training.relation_prediction:
        among = training.predicted_relations
        relations = _relation_prediction(model, vectors, batch.batch, among)
        relations = reduced(relations, batch.counts.positives, training.reduction)
        others = others + training.relation_prediction * relations
    kg = reduced(scorer.real(batch) * batch.scale, batch.terms, training.reduction)
    return LossTerms(
        loss=kg + others,
        kg_loss=kg.detach(),
        synthetic_loss=mixed.detach(),
        positives=batch.counts.positives,
        synthetic_samples=batch.counts.samples,
    )


@dataclass(frozen=True)
class _Scorer:
    """Sums of terms of one batch."""

    model: LinkPredictor
    vectors: TableVectors
    objective: Objective

    def real(self, item: PreparedBatch) -> Tensor:
        """Σ of L_KG's terms, weighted but not scaled."""
        batch = item.batch
        query = self.model.query(self.vectors, batch.heads, batch.relations)
        if isinstance(batch, QueryBatch):
            positives = Positives(batch.rows, batch.tails, item.weights)
            offsets = item.offsets if isinstance(item.offsets, Offsets) else None
            return self._against_all(query, positives, offsets=offsets, with_bias=True)
        ids = candidates(batch)
        scores = scores_of_candidates(
            self.model, self.vectors, query, ids, batch.rows, with_bias=True
        )
        if isinstance(item.offsets, Tensor):
            scores = scores + item.offsets
        return self.objective.of_candidates(
            scores[:, 0], scores[:, 1:], batch.mask, weights=item.weights
        )

    def mixed(self, item: PreparedBatch, *, with_bias: bool) -> Tensor:
        """Σ of L_Mix's terms, 0 where nothing is mixed."""
        samples, batch = item.synthetic, item.batch
        if samples is None:
            return torch.zeros((), device=self.vectors.entities.device)
        query = self.model.mixed_query(self.vectors, samples.first, samples.second, samples.lam)
        tails, of_synthetic = samples.first[:, 2], self.objective.of_synthetic
        if of_synthetic is not None:
            scores = scores_of_candidates(
                self.model, self.vectors, query, tails.unsqueeze(1), with_bias=with_bias
            )
            return of_synthetic(scores.squeeze(1), weights=samples.weights)
        if isinstance(batch, QueryBatch):
            rows = torch.arange(len(tails), device=tails.device)
            positives = Positives(rows, tails, samples.weights)
            rivals = samples.rivals
            return self._against_all(query, positives, rivals=rivals, with_bias=with_bias)
        ids, mask = candidates(batch)[samples.positions], batch.mask[samples.positions]
        scores = scores_of_candidates(self.model, self.vectors, query, ids, with_bias=with_bias)
        return self.objective.of_candidates(
            scores[:, 0], scores[:, 1:], mask, weights=samples.weights
        )

    def _against_all(
        self,
        query: Tensor,
        positives: Positives,
        *,
        offsets: Offsets | None = None,
        rivals: Rivals | None = None,
        with_bias: bool,
    ) -> Tensor:
        """Σ of the terms of queries (B, D) against all entities, or rivals that stand for them."""
        bias: Tensor | None = self.model.bias if with_bias else None
        entities = self.vectors.entities
        given = {"offsets": offsets, "rivals": rivals}
        given = {name: value for name, value in given.items() if value is not None}
        if self.model.decoder.is_bilinear:
            table = self.vectors.table
            return self.objective.of_products(query, table, bias, positives, **given)
        if rivals is not None:
            entities = self.vectors.table.rows(rivals.ids)
            bias = None if bias is None else bias.index_select(0, rivals.ids)
        scores = self.model.decoder.score_all(query, entities, bias)
        return self.objective.of_scores(scores, positives, **given)


def _relation_prediction(
    model: LinkPredictor, vectors: Vectors, batch: QueryBatch | TripleBatch, among: str
) -> Tensor:
    """Σ over the batch's positives of the relations asked; a strategy's weights do not enter."""
    count = len(vectors.relations) // (2 if among == "original" else 1)
    heads, relations = batch.of_positives(batch.heads), batch.of_positives(batch.relations)
    asked = relations < count
    return relation_prediction(
        model.decoder,
        vectors.entity(heads[asked]),
        vectors.entity(batch.tails[asked]),
        relations[asked],
        vectors.relations[:count],
    )


def _penalty(
    model: LinkPredictor,
    vectors: Vectors,
    batch: QueryBatch | TripleBatch,
    training: TrainingConfig[Never],
) -> Tensor:
    """Σ over the batch's positives of the penalties on head, relation and tail vector."""
    once = asked = torch.ones_like(batch.tails)
    if batch.rows is not None:
        asked = torch.zeros_like(batch.heads).index_add_(0, batch.rows, once)
    entities = _distinct(torch.cat([batch.heads, batch.tails]), torch.cat([asked, once]))
    relations = _distinct(batch.relations, asked)
    total = torch.zeros((), device=vectors.entities.device)
    for look_up, (ids, counts) in ((vectors.entity, entities), (vectors.relation, relations)):
        squares = model.decoder.squared_moduli(look_up(ids))
        if training.n3:
            total = total + training.n3 * n3(squares, counts)
        if training.l2:
            total = total + training.l2 * l2(squares, counts)
    return total


def _distinct(ids: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Each id once, with the sum of its counts; on a GPU, which would have to wait, as they are."""
    if ids.device.type != "cpu":
        return ids, counts
    distinct, places = ids.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    return distinct, counts.new_zeros(len(distinct)).index_add_(0, places, counts)
