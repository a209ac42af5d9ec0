"""The plain encoder: an entity's vector is its row of the embedding table."""

from __future__ import annotations

import torch
from torch import Tensor

from dglkgmix.models.encoder import Encoder, Vectors


class Lookup(Encoder):
    """The embedding tables as they are.

    Attributes:
        sparse: whether look-ups give sparse gradients, for graphs so large that a dense gradient
            a batch costs more than the batch. The optimiser must know how to take them.
    """

    sparse: bool = False

    def encode(
        self,
        hidden_edges: Tensor | None = None,
        nodes: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Vectors:
        """Both tables, whatever is asked."""
        return Vectors(self.entity_table, self.relation_table, sparse=self.sparse)
