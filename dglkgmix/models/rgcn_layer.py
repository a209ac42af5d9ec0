"""One R-GCN layer (Schlichtkrull et al., 2018): a weight matrix for each relation, decomposed."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from dglkgmix.errors import ConfigError
from dglkgmix.kernels.segments import segment_outer, segment_product
from dglkgmix.models.neighbourhood import Neighbourhood

# Measured: mixing a matrix, which passes through memory, costs about as much as two products.
_MIXING = 2


class RelationMatrices(nn.Module, ABC):
    """Matrices (2R, G, De / G, De / G): the G diagonal blocks of every relation's matrix."""

    def messages(self, means: Tensor, hood: Neighbourhood) -> Tensor:
        """Σ_q W_r(q) m_q over the groups q of each target: means (Q, De) to (T, De)."""
        return hood.groups.sum(segment_product(means, self(), hood.sizes))

    @abstractmethod
    def forward(self) -> Tensor:
        """All matrices, made of what is learnt."""

    @abstractmethod
    def reset_parameters(self) -> None:
        """Draw what is learnt afresh."""


class BasisMatrices(RelationMatrices):
    """W_r = Σ_b a_rb V_b: every relation mixes ``bases`` full matrices; G = 1."""

    def __init__(self, relations: int, dim: int, bases: int) -> None:
        super().__init__()
        self.bases = nn.Parameter(torch.empty(bases, dim, dim))
        self.coefficients = nn.Parameter(torch.empty(relations, bases))

    def forward(self) -> Tensor:
        """W (2R, 1, De, De)."""
        mixed = self.coefficients @ self.bases.flatten(1)
        return mixed.view(-1, 1, *self.bases.shape[1:])

    def messages(self, means: Tensor, hood: Neighbourhood) -> Tensor:
        """See the base class; Σ_b (Σ_q a_r(q)b m_q) V_b where that is cheaper: many relations."""
        relations, bases = self.coefficients.shape
        if hood.num_targets * bases >= _MIXING * relations * bases + len(means):
            return super().messages(means, hood)
        runs = torch.tensor(hood.sizes, device=means.device)
        shares = self.coefficients.repeat_interleave(runs, 0)  # (Q, bases)
        targets = hood.groups.ends(means.device)[1]
        mixed = segment_outer(
            shares, means.to(shares.dtype), targets, hood.num_targets
        )  # (T, bases, De)
        return mixed.flatten(1) @ self.bases.flatten(0, 1)

    def reset_parameters(self) -> None:
        """Such that mixed matrices about keep a vector's length."""
        bases, dim, _ = self.bases.shape
        nn.init.normal_(self.bases, std=dim**-0.5)
        nn.init.normal_(self.coefficients, std=bases**-0.5)


class BlockMatrices(RelationMatrices):
    """W_r = diag(Q_r1, …, Q_rG): ``blocks`` small matrices for every relation.

    Raises:
        ConfigError: the blocks do not divide the dimension.
    """

    def __init__(self, relations: int, dim: int, blocks: int) -> None:
        super().__init__()
        if dim % blocks:
            fitting = ", ".join(str(n) for n in range(1, dim + 1) if dim % n == 0)
            raise ConfigError(
                f"model.bases is {blocks}: blocks must divide model.entity_dim {dim}; "
                f"what fits is {fitting}"
            )
        size = dim // blocks
        self.blocks = nn.Parameter(torch.empty(relations, blocks, size, size))

    def forward(self) -> Tensor:
        """The blocks themselves."""
        return self.blocks

    def reset_parameters(self) -> None:
        """Such that a vector about keeps its length."""
        nn.init.normal_(self.blocks, std=self.blocks.shape[-1] ** -0.5)


class RGCNLayer(nn.Module):
    """h'_v = W_0 h_v + b + Σ_r 1 / d_tail(v, r) Σ_{u: (u, r, v)} W_r h_u.

    Without ``self_loop`` the sum alone.
    """

    def __init__(self, matrices: RelationMatrices, dim: int, *, self_loop: bool = True) -> None:
        super().__init__()
        self.matrices = matrices
        self.self_loop = nn.Linear(dim, dim) if self_loop else None
        matrices.reset_parameters()
        if self.self_loop is not None:
            self.self_loop.reset_parameters()

    def forward(
        self, features: Tensor, relations: Tensor, hood: Neighbourhood, hidden: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Features (S, De) of the sources to features (T, De) of the targets; relations stay.

        ``hidden`` edges pass nothing and do not count in the degree.
        """
        means, _ = hood.means(features, hidden)  # (Q, De)
        messages = self.matrices.messages(means, hood)
        if self.self_loop is None:
            return messages, relations
        return self.self_loop(features[: hood.num_targets]) + messages, relations
