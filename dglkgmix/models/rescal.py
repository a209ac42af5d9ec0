"""RESCAL: a full matrix for each relation (Nickel et al., 2011)."""

from __future__ import annotations

from torch import Tensor, nn

from dglkgmix.kernels.dropout import Dropout
from dglkgmix.kernels.masked_product import masked_product
from dglkgmix.models.decoder import MatrixDecoder, outer, same_dim


class RESCAL(MatrixDecoder):
    """score = h W_r t, with input dropout on the head.

    A relation's vector is its matrix, row by row: ``relation_dim`` is De², whatever the
    configuration calls the relation dimension (it must be De there).

    Raises:
        ConfigError: the configured dimensions differ.
    """

    predicts_relations = True

    def __init__(self, entity_dim: int, relation_dim: int, input_dropout: float = 0.0) -> None:
        same_dim("rescal", entity_dim, relation_dim)
        super().__init__(entity_dim, entity_dim**2)
        self.input_dropout = Dropout(input_dropout)

    def query(self, head: Tensor, relation: Tensor, rows: Tensor | None = None) -> Tensor:
        """Queries (B, De); see :meth:`Decoder.query`."""
        matrices = relation.view(-1, self.entity_dim, self.entity_dim)
        return masked_product(self.input_dropout(head), matrices, rows, 0.0)

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """Outer products of head and tail (B, De²); see :meth:`Decoder.relation_query`."""
        return outer(self.input_dropout(head), tail)

    def start_tables(self, entities: Tensor, relations: Tensor) -> None:
        """Entities as everywhere; matrices that about keep a vector's length."""
        nn.init.xavier_normal_(entities)
        nn.init.normal_(relations, std=self.entity_dim**-0.5)
