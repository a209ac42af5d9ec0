"""ConvE: a convolution over head and relation, drawn as one picture (Dettmers et al., 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dglkgmix.config import ModelConfig
from dglkgmix.errors import ConfigError
from dglkgmix.kernels.batch_norm import BatchNorm
from dglkgmix.kernels.convolution import NormedConvolution
from dglkgmix.kernels.dropout import Dropout
from dglkgmix.models.decoder import Decoder, same_dim


@dataclass(frozen=True)
class Geometry:
    """Every size of a ConvE.

    A vector is a picture of ``height`` × ``width``, two of them are stacked, and ``filters``
    square kernels run over the stack without padding.
    """

    height: int
    width: int
    filters: int
    kernel: int

    @classmethod
    def resolve(
        cls, dim: int, height: int | Literal["auto"] = "auto", filters: int = 32, kernel: int = 3
    ) -> Geometry:
        """The geometry for vectors of size ``dim``; height "auto" is twice the width, or the
        nearest to it that fits.

        Raises:
            ConfigError: nothing fits, or not this height; the message lists what would.
        """
        shapes = fitting_shapes(dim, kernel)
        if height == "auto" and shapes:
            best = min(shapes, key=lambda shape: abs(math.log(shape[0] / (2 * shape[1]))))
            return cls(*best, filters, kernel)
        for rows, columns in shapes:
            if rows == height:
                return cls(rows, columns, filters, kernel)
        raise ConfigError(_misfit(dim, height, kernel, shapes))

    @property
    def hidden(self) -> int:
        """Size of the flattened feature maps: 9,728 for 20 × 10 with 32 kernels of 3 × 3."""
        return self.filters * (2 * self.height - self.kernel + 1) * (self.width - self.kernel + 1)


def fitting_shapes(dim: int, kernel: int) -> list[tuple[int, int]]:
    """All (height, width) with height · width = dim whose stack a kernel fits into."""
    low = [rows for rows in range(1, math.isqrt(max(dim, 0)) + 1) if dim % rows == 0]
    pairs = sorted({(rows, dim // rows) for part in low for rows in (part, dim // part)})
    return [(rows, columns) for rows, columns in pairs if 2 * rows >= kernel and columns >= kernel]


def _misfit(dim: int, height: int | str, kernel: int, shapes: list[tuple[int, int]]) -> str:
    if shapes:
        fitting = ", ".join(f"{rows}x{columns}" for rows, columns in shapes)
        return f"model.height {height} does not fit model.entity_dim {dim}: what fits is {fitting}"
    near = sorted(range(1, 2 * dim + 4 * kernel), key=lambda other: abs(other - dim))
    better = [str(other) for other in near if fitting_shapes(other, kernel)][:4]
    return (
        f"model.entity_dim {dim} has no height x width that a {kernel}x{kernel} kernel fits "
        f"into: what fits near it is {', '.join(better)}"
    )


class ConvE(Decoder):
    """score = ⟨f([h̄; r̄]), t⟩, with f the layers of :meth:`query`.

    Raises:
        ConfigError: the dimensions differ, or no such shape exists.
    """

    bias_by_default = True

    @classmethod
    def settle(cls, options: ModelConfig[Any], entity_dim: int) -> dict[str, Any]:
        """The height: H = 2W or nearest to it."""
        shape = Geometry.resolve(entity_dim, options.height, options.filters, options.kernel)
        return {"height": shape.height}

    def __init__(
        self,
        entity_dim: int,
        relation_dim: int,
        *,
        height: int | Literal["auto"] = "auto",
        filters: int = 32,
        kernel: int = 3,
        input_dropout: float = 0.2,
        feature_dropout: float = 0.2,
        hidden_dropout: float = 0.3,
    ) -> None:
        same_dim("conve", entity_dim, relation_dim)
        super().__init__(entity_dim, relation_dim)
        self.geometry = Geometry.resolve(entity_dim, height, filters, kernel)
        self.input_norm = BatchNorm(1)
        self.input_dropout = Dropout(input_dropout)
        self.convolution = NormedConvolution(filters, kernel, feature_dropout)
        self.projection = nn.Linear(self.geometry.hidden, entity_dim)
        self.hidden_dropout = Dropout(hidden_dropout)
        self.output_norm = BatchNorm(entity_dim)

    @property
    def largest(self) -> int:
        """The flattened feature maps."""
        return max(self.geometry.hidden, 2 * self.entity_dim)

    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        shape = self.geometry
        stack = torch.cat([head, relation], dim=1).unsqueeze(1)  # (B, 1, 2HW)
        picture = self.input_dropout(self.input_norm(stack))
        maps = self.convolution(picture.view(-1, 2 * shape.height, shape.width))
        hidden = self.hidden_dropout(self.projection(maps.flatten(1)))  # (B, De)
        return torch.relu(self.output_norm(hidden))
