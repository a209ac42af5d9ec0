"""TransE: a relation moves the head to the tail (Bordes et al., 2013)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dglkgmix.kernels.dropout import Dropout
from dglkgmix.kernels.euclidean import euclidean
from dglkgmix.models.decoder import Decoder, same_dim

EXACT = "donot_use_mm_for_euclid_dist"


class TransE(Decoder):
    """score = -‖h + r - t‖_p with p 1 or 2, and input dropout on the head.

    Distances to all entities take (B, E) memory, never (B, E, D). Where a gradient is asked for,
    those of norm 2 are made of matrix products.

    Raises:
        ConfigError: the dimensions differ.
    """

    is_bilinear = False
    sigmoid_is_probability = False
    # An epoch takes six times one of ComplEx (norm 1, CoDEx-S). Validation MRR at epoch 20 with
    # rates 0.001, 0.003 and 0.01: .021, .214 and .175 on CoDEx-S at d = 32.
    most_epochs = 100
    long_vectors = True

    def __init__(
        self, entity_dim: int, relation_dim: int, input_dropout: float = 0.0, norm: int = 1
    ) -> None:
        same_dim("transe", entity_dim, relation_dim)
        super().__init__(entity_dim, relation_dim)
        self.norm = norm
        self.input_dropout = Dropout(input_dropout)

    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        moved: Tensor = self.input_dropout(head) + relation
        return moved

    def score_all(self, query: Tensor, entities: Tensor, bias: Tensor | None = None) -> Tensor:
        """Negative distances (B, E) to all entities."""
        if self.norm == 2 and torch.is_grad_enabled():
            distance = euclidean(query, entities)
        else:  # Ranks take no matrix product, which rounds by the size of the block.
            distance = torch.cdist(query, entities, float(self.norm), EXACT)
        return -distance if bias is None else bias - distance

    def score(self, query: Tensor, candidates: Tensor, bias: Tensor | None = None) -> Tensor:
        """Negative distances (B, K) to the candidates of each query."""
        distance = torch.cdist(query.unsqueeze(1), candidates, float(self.norm), EXACT).squeeze(1)
        return -distance if bias is None else bias - distance

    def start_tables(self, entities: Tensor, relations: Tensor) -> None:
        """Uniform, relations of length 1, as its authors do."""
        bound = 6 * self.entity_dim**-0.5
        nn.init.uniform_(entities, -bound, bound)
        nn.init.uniform_(relations, -bound, bound)
        relations.copy_(nn.functional.normalize(relations))
