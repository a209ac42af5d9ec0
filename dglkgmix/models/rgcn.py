"""R-GCN encoder: an entity's vector is made of its neighbours'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dglkgmix.models.message_passing import MessagePassing
from dglkgmix.models.rgcn_layer import BasisMatrices, BlockMatrices, RGCNLayer

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


class RGCN(MessagePassing):
    """Layers of relational graph convolution (Schlichtkrull et al., 2018).

    Relations go to the decoder as they are.

    Args:
        kg, entity_dim, relation_dim: see :class:`MessagePassing`, as for the rest.
        layers: how many, at least 1.
        decomposition: what each relation's matrix is made of.
        bases: number of bases or of diagonal blocks.

    Raises:
        ConfigError: blocks that do not divide the dimension.
    """

    title = "R-GCN"

    def __init__(
        self,
        kg: KnowledgeGraph,
        entity_dim: int,
        relation_dim: int,
        *,
        layers: int = 1,
        decomposition: Literal["basis", "block"] = "basis",
        bases: int = 30,
        residual: float | Literal["none"] = 0.05,
        encoder_dropout: float = 0.0,
        edge_dropout: float = 1.0,
        fanout: int = 0,
    ) -> None:
        kind = {"basis": BasisMatrices, "block": BlockMatrices}[decomposition]
        matrices = (kind(kg.num_query_relations, entity_dim, bases) for _ in range(layers))
        super().__init__(
            kg,
            entity_dim,
            relation_dim,
            layers=[RGCNLayer(m, entity_dim, self_loop=residual == "none") for m in matrices],
            residual=residual,
            encoder_dropout=encoder_dropout,
            edge_dropout=edge_dropout,
            fanout=fanout,
        )

    @property
    def by_relation(self) -> tuple[str, ...]:  # type: ignore[override]
        """The matrices of each layer, or what mixes them, too."""
        own = ("matrices.coefficients", "matrices.blocks")
        found = [name for name, _ in self.named_parameters() if name.endswith(own)]
        return ("relation_table", *found)
