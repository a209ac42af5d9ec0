"""Vectors and scores as losses take them: one gradient of the entity table, the cheaper product."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dglkgmix.kernels.candidates import candidate_scores
from dglkgmix.kernels.table import Table
from dglkgmix.models.encoder import Vectors
from dglkgmix.models.link_predictor import LinkPredictor

# A product with all entities costs per score about this fraction of what a gathered candidate
# costs, gradients included: 1/20 in float32 on the CPU (measured at d = 200), less elsewhere.
_PRODUCT_ADVANTAGE = {"cpu": 20}
_PRODUCT_ADVANTAGE_ELSEWHERE = 100


@dataclass(frozen=True)
class TableVectors(Vectors):
    """Vectors whose look-ups of entities share one gradient of the table."""

    table: Table = field(kw_only=True)

    @classmethod
    def of(cls, vectors: Vectors) -> TableVectors:
        """The same vectors, for the losses of one batch."""
        given = {part.name: getattr(vectors, part.name) for part in dataclasses.fields(Vectors)}
        return cls(**given, table=Table(vectors.entities))

    def entity(self, ids: Tensor) -> Tensor:
        """Vectors (..., De) of entity ids (...)."""
        return self.table.rows(self.rows_of(ids))

    def rows_of(self, ids: Tensor) -> Tensor:
        """Rows (...) of entity ids (...) in the table."""
        return ids if self.position is None else self.position[ids]


def scores_of_candidates(
    model: LinkPredictor,
    vectors: TableVectors,
    query: Tensor,
    candidates: Tensor,
    *,
    with_bias: bool,
) -> Tensor:
    """Scores (B, K) in float32 or wider of queries (B, D) against candidate ids (B, K).

    Through all entities where that is cheaper, else through the candidates alone.
    """
    if not model.decoder.is_bilinear:
        scores = _wide(model.score(vectors, query, candidates, with_bias=False))
    elif full_product_pays(vectors, candidates):
        scores = _wide(model.decoder.score_all(query, vectors.entities, None))
        scores = scores.gather(1, candidates)
    else:
        scores = candidate_scores(query, vectors.table, vectors.rows_of(candidates))
    if model.bias is None or not with_bias:
        return scores
    # Unlike bias[candidates], whose gradient is summed in no fixed order.
    return scores + model.bias.index_select(0, candidates.reshape(-1)).view_as(candidates)


def full_product_pays(vectors: Vectors, candidates: Tensor) -> bool:
    """Whether scoring all entities costs less than gathering candidates (B, K)."""
    if vectors.position is not None:
        return False
    advantage = _PRODUCT_ADVANTAGE.get(candidates.device.type, _PRODUCT_ADVANTAGE_ELSEWHERE)
    return len(vectors.entities) <= advantage * candidates.shape[1]


def _wide(scores: Tensor) -> Tensor:
    return scores.to(torch.promote_types(scores.dtype, torch.float32))
