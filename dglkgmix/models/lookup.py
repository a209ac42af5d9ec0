"""The plain encoder: an entity's vector is its row of the embedding table."""

from __future__ import annotations

from torch import Tensor

from dglkgmix.models.encoder import Encoder, Vectors


class Lookup(Encoder):
    """The embedding tables as they are."""

    def encode(self, hidden_edges: Tensor | None = None, nodes: Tensor | None = None) -> Vectors:
        """Both tables, whichever ``nodes`` are asked for."""
        return Vectors(self.entity_table, self.relation_table)
