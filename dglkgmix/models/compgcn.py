"""CompGCN encoder: messages composed of a neighbour and its relation (Vashishth et al., 2020)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from dglkgmix.errors import ConfigError
from dglkgmix.models.message_passing import MessagePassing
from dglkgmix.models.neighbourhood import Neighbourhood

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


def correlate(left: Tensor, right: Tensor) -> Tensor:
    """Circular correlation along the last dimension: c_k = Σ_i a_i b_(i + k) mod D."""
    spectrum = torch.fft.rfft(left).conj() * torch.fft.rfft(right)
    result: Tensor = torch.fft.irfft(spectrum, n=left.shape[-1])
    return result


COMPOSITIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "subtract": torch.sub,
    "multiply": torch.mul,
    "correlate": correlate,
}


class CompGCN(MessagePassing):
    """Layers that compose each neighbour with the vector of its relation.

    The decoder gets the relations that the last layer makes.

    Args:
        kg, entity_dim, relation_dim: see :class:`MessagePassing`, as for the rest.
        layers: how many, at least 1.
        composition: φ of :class:`CompGCNLayer`.

    Raises:
        ConfigError: the dimensions differ.
    """

    title = "CompGCN"

    def __init__(
        self,
        kg: KnowledgeGraph,
        entity_dim: int,
        relation_dim: int,
        *,
        layers: int = 1,
        composition: Literal["subtract", "multiply", "correlate"] = "multiply",
        residual: float | Literal["none"] = 0.05,
        encoder_dropout: float = 0.0,
        edge_dropout: float = 1.0,
        fanout: int = 0,
    ) -> None:
        if entity_dim != relation_dim:
            raise ConfigError(
                f"model.encoder compgcn composes entities of {entity_dim} numbers with relations "
                f"of {relation_dim}: set model.relation_dim to model.entity_dim, and use a decoder "
                "whose relations are as long as entities (not rescal or rotate)"
            )
        super().__init__(
            kg,
            entity_dim,
            relation_dim,
            layers=[
                CompGCNLayer(composition, entity_dim, self_loop=residual == "none")
                for _ in range(layers)
            ],
            residual=residual,
            encoder_dropout=encoder_dropout,
            edge_dropout=edge_dropout,
            fanout=fanout,
        )


class CompGCNLayer(nn.Module):
    """h'_v = φ(h_v, z_loop) W_loop + b + Σ_λ mean_{(u, r, v) in λ} φ(h_u, z_r) W_λ; z'_r = z_r W_z.

    λ is one of the two directions, the original relations and their reciprocals; φ is a - b, a b
    or circular correlation. Without ``self_loop`` h'_v is the sum over λ alone, and z' = z.
    """

    def __init__(
        self,
        composition: Literal["subtract", "multiply", "correlate"],
        dim: int,
        *,
        self_loop: bool = True,
    ) -> None:
        super().__init__()
        self.compose = COMPOSITIONS[composition]
        self.directions = nn.Linear(2 * dim, dim, bias=False)
        self.self_loop = nn.Linear(dim, dim) if self_loop else None
        if self_loop:
            self.loop = nn.Parameter(torch.randn(dim))
            self.to_relations = nn.Linear(dim, dim, bias=False)

    def forward(
        self, features: Tensor, relations: Tensor, hood: Neighbourhood, hidden: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Features (S, De) of the sources and relations (2R, De) to those of the targets, (T, De).

        ``hidden`` edges pass nothing and do not count in the mean.
        """
        # A group's edges share a relation, and φ is linear in the entity, up to what is constant.
        means, degrees = hood.means(features, hidden)  # (Q, De)
        runs = torch.tensor(hood.sizes, device=means.device)
        messages = self.compose(means, relations.repeat_interleave(runs, 0))
        weights = degrees.to(means.dtype).unsqueeze(1)
        total = hood.directions.sum(messages * weights)  # (2T, De)
        total = total / hood.directions.sum(weights).clamp(min=1)
        passed: Tensor = self.directions(torch.cat(total.chunk(2), 1))
        if self.self_loop is None:
            return passed, relations
        own = self.compose(features[: hood.num_targets], self.loop)
        return self.self_loop(own) + passed, self.to_relations(relations)
