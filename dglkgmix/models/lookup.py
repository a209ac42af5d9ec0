"""The plain encoder: an entity's vector is its row of the embedding table."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from dglkgmix.models.encoder import Encoder, Vectors


class Lookup(Encoder):
    """The embedding tables as they are."""

    def encode(
        self,
        hidden_edges: Tensor | None = None,
        nodes: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Vectors:
        """Both tables, or in training the rows of ``nodes`` (N,), whose gradient is sparse."""
        if nodes is None or not self.training:
            return Vectors(self.entity_table, self.relation_table)
        rows = functional.embedding(nodes, self.entity_table, sparse=True)
        position = torch.full((len(self.entity_table),), -1, device=nodes.device)
        position.index_copy_(0, nodes, torch.arange(len(nodes), device=nodes.device))
        return Vectors(rows, self.relation_table, position)
