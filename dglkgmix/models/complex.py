"""ComplEx: DistMult over complex numbers (Trouillon et al., 2016)."""

from __future__ import annotations

from torch import Tensor

from dglkgmix.errors import ConfigError
from dglkgmix.kernels.complex_product import complex_product
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.models.decoder import Decoder, same_dim


class ComplEx(Decoder):
    """score = Re(Σ_i h_i r_i conj(t_i)), with input dropout on the head.

    The first half of every vector holds the real parts, the second the imaginary ones.

    Raises:
        ConfigError: the dimensions differ or are odd.
    """

    predicts_relations = True

    def __init__(self, entity_dim: int, relation_dim: int, input_dropout: float = 0.0) -> None:
        same_dim("complex", entity_dim, relation_dim)
        if entity_dim % 2:
            raise ConfigError(
                f"model.entity_dim is {entity_dim}: complex needs an even number, "
                "half for real and half for imaginary parts"
            )
        super().__init__(entity_dim, relation_dim)
        self.input_dropout = Dropout(input_dropout)

    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        return complex_product(self.input_dropout(head), relation)

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """conj(h) t (B, D): Re(h r conj(t)) = Re(r conj(conj(h) t)); see the base class."""
        return complex_product(self.input_dropout(head), tail, conjugate=True)

    def squared_moduli(self, vectors: Tensor) -> Tensor:
        """|x|² (B, D / 2) of the complex numbers."""
        real, imaginary = vectors.chunk(2, dim=1)
        return real.square() + imaginary.square()
