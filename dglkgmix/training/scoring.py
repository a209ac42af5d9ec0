"""Vectors and scores as losses take them: with one gradient of the entity table."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from dglkgmix.kernels.candidates import candidate_scores
from dglkgmix.kernels.table import Table
from dglkgmix.models.encoder import Vectors
from dglkgmix.models.link_predictor import LinkPredictor


@dataclass(frozen=True)
class TableVectors(Vectors):
    """Vectors whose look-ups of entities share one gradient of the table."""

    table: Table = field(kw_only=True)

    @classmethod
    def of(cls, vectors: Vectors) -> TableVectors:
        """The same vectors, for the losses of one batch."""
        given = vectors.entities, vectors.relations, vectors.position
        return cls(*given, table=Table(vectors.entities))

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
    rows: Tensor | None = None,
    *,
    with_bias: bool,
) -> Tensor:
    """Scores (B, K) in float32 or wider of queries (Q, D) against candidate ids (B, K).

    ``rows`` (B,) is the query of each row of candidates; None where Q = B, each its own.
    """
    if model.decoder.is_bilinear:
        scores = candidate_scores(query, vectors.table, vectors.rows_of(candidates), rows)
    else:
        query = query if rows is None else query.index_select(0, rows)
        scores = model.score(vectors, query, candidates, with_bias=False)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if model.bias is None or not with_bias:
        return scores
    # Unlike bias[candidates], whose gradient is summed in no fixed order.
    return scores + model.bias.index_select(0, candidates.reshape(-1)).view_as(candidates)
