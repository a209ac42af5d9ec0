"""RotatE: a relation turns each complex number of the head by an angle (Sun et al., 2019)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dglkgmix.errors import ConfigError
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.models.decoder import Decoder, same_dim

# Numbers of the differences between queries and entities that are held at once.
_BLOCK = 2**22


class RotatE(Decoder):
    """score = γ - Σ_i |h_i exp(i θ_i) - t_i|, with input dropout on the head.

    The first half of an entity's vector holds the real parts, the second the imaginary ones; a
    relation's vector holds its De / 2 angles θ. Scores of all entities take (B, E) memory and the
    differences of a block, which are computed again for the gradient.

    Raises:
        ConfigError: the configured dimensions differ or are odd.
    """

    is_bilinear = False

    def __init__(
        self, entity_dim: int, relation_dim: int, input_dropout: float = 0.0, margin: float = 9.0
    ) -> None:
        same_dim("rotate", entity_dim, relation_dim)
        if entity_dim % 2:
            raise ConfigError(
                f"model.entity_dim is {entity_dim}: rotate needs an even number, "
                "half for real and half for imaginary parts"
            )
        super().__init__(entity_dim, entity_dim // 2)
        self.margin = margin
        self.input_dropout = Dropout(input_dropout)

    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        real, imaginary = self.input_dropout(head).chunk(2, dim=1)
        cos, sin = relation.cos(), relation.sin()
        return torch.cat([real * cos - imaginary * sin, real * sin + imaginary * cos], dim=1)

    def score_all(self, query: Tensor, entities: Tensor, bias: Tensor | None = None) -> Tensor:
        """Scores (B, E) of each query against all entities."""
        step = max(1, _BLOCK // max(1, query.numel()))
        distance = torch.cat([self._block(query, x) for x in torch.split(entities, step)], dim=1)
        scores = self.margin - distance
        return scores if bias is None else scores + bias

    def _block(self, query: Tensor, entities: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return _distance(query.unsqueeze(1), entities)
        distance: Tensor = checkpoint(
            _distance, query.unsqueeze(1), entities, use_reentrant=False, preserve_rng_state=False
        )
        return distance

    def score(self, query: Tensor, candidates: Tensor, bias: Tensor | None = None) -> Tensor:
        """Scores (B, K) of the candidates of each query."""
        scores = self.margin - _distance(query.unsqueeze(1), candidates)
        return scores if bias is None else scores + bias

    def squared_moduli(self, vectors: Tensor) -> Tensor:
        """|x|² (B, De / 2) of an entity's complex numbers; those of a relation are 1."""
        if vectors.shape[1] == self.relation_dim:
            return torch.ones_like(vectors)
        real, imaginary = vectors.chunk(2, dim=1)
        return real.square() + imaginary.square()

    def relation_directions(self, relations: Tensor) -> Tensor:
        """The cosines and sines (R, De): angles that differ by full turns are the same relation."""
        return torch.cat([relations.cos(), relations.sin()], dim=1)

    def start_tables(self, entities: Tensor, relations: Tensor) -> None:
        """Uniform, as its authors do: entities by the margin, angles all around."""
        bound = (self.margin + 2) / self.relation_dim
        nn.init.uniform_(entities, -bound, bound)
        nn.init.uniform_(relations, -math.pi, math.pi)


def _distance(query: Tensor, tails: Tensor) -> Tensor:
    """Σ of the moduli (...) of complex differences between vectors (..., De)."""
    pairs = torch.unflatten(query - tails, -1, (2, -1))
    distance: Tensor = torch.linalg.vector_norm(pairs, dim=-2).sum(-1)
    return distance
