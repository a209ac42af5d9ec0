"""TuckER: one core tensor that all relations share (Balažević et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dglkgmix.kernels.batch_norm import BatchNorm
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.kernels.masked_product import masked_product
from dglkgmix.models.decoder import MatrixDecoder, outer


class TuckER(MatrixDecoder):
    """score = W ×₁ h ×₂ r ×₃ t, with norms and dropouts between the products.

    The core (Dr, De, De) meets each distinct relation of a batch once. Hidden dropout 1 then
    falls on every query's own copy of the contracted matrix.
    """

    bias_by_default = True
    two_dims = True
    predicts_relations = True

    def __init__(
        self,
        entity_dim: int,
        relation_dim: int,
        *,
        input_dropout: float = 0.3,
        hidden_dropout1: float = 0.4,
        hidden_dropout2: float = 0.5,
    ) -> None:
        super().__init__(entity_dim, relation_dim)
        self.core = nn.Parameter(torch.empty(relation_dim, entity_dim, entity_dim))
        self.input_norm = BatchNorm(entity_dim)
        self.input_dropout = Dropout(input_dropout)
        self.matrix_dropout = Dropout(hidden_dropout1)
        self.output_norm = BatchNorm(entity_dim)
        self.output_dropout = Dropout(hidden_dropout2)
        nn.init.uniform_(self.core, -1.0, 1.0)  # as its authors do

    def query(self, head: Tensor, relation: Tensor, rows: Tensor | None = None) -> Tensor:
        """Queries (B, De); see :meth:`Decoder.query`."""
        head = self.input_dropout(self.input_norm(head))
        matrices = (relation @ self.core.flatten(1)).view(-1, *self.core.shape[1:])  # (U, De, De)
        p = self.matrix_dropout.p if self.matrix_dropout.active else 0.0
        query: Tensor = self.output_norm(masked_product(head, matrices, rows, p))
        return self.output_dropout.forward(query)

    def relation_inputs(self, head: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        """Normalised heads and scaled tails (P, De); see :meth:`Decoder.relation_inputs`.

        Both norms take their running statistics, as in evaluation: those of a batch hold for the
        relations that it asks about, not for all. The hidden dropouts are left out.
        """
        norm = self.input_norm
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        head = self.input_dropout((head - norm.running_mean) * scale + norm.bias)
        norm = self.output_norm
        return head, tail * (norm.weight * torch.rsqrt(norm.running_var + norm.eps))

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """W ×₁ h ×₃ t (B, Dr); see :meth:`Decoder.relation_query`."""
        return outer(head, tail) @ self.core.flatten(1).T
