"""DistMult: the query is head times relation, element by element (Yang et al., 2015)."""

from __future__ import annotations

from torch import Tensor

from dglkgmix.kernels.dropout import Dropout
from dglkgmix.models.decoder import Decoder, same_dim


class DistMult(Decoder):
    """score = Σ_i h_i r_i t_i, with input dropout on the head.

    Raises:
        ConfigError: the dimensions differ.
    """

    predicts_relations = True
    prefers_softmax = True

    def __init__(self, entity_dim: int, relation_dim: int, input_dropout: float = 0.0) -> None:
        same_dim("distmult", entity_dim, relation_dim)
        super().__init__(entity_dim, relation_dim)
        self.input_dropout = Dropout(input_dropout)

    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        query: Tensor = self.input_dropout(head) * relation
        return query

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """Head times tail (B, D); see :meth:`Decoder.relation_query`."""
        return self._query(head, tail)
