"""Entities and relations whose vectors point the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.errors import DIVERGED, ConfigError, NumericError
from dglkgmix.evaluation.model_scorer import evaluating
from dglkgmix.models.encoder import Vectors

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.models.link_predictor import LinkPredictor


@dataclass(frozen=True)
class Neighbour:
    """An entity or relation near another.

    Attributes:
        name: its name.
        cosine: of the angle between the two vectors.
        degree: training triples of the entity, or of the relation; where there is none, the vector
            is untrained.
        reciprocal: whether it is the reciprocal of the relation ``name``.
    """

    name: str
    cosine: float
    degree: int
    reciprocal: bool = False


class Neighbours:
    """Compares the vectors that the decoder reads: an R-GCN's are encoded.

    Entities have their whole vectors: for ``complex`` and ``rotate`` the real parts beside the
    imaginary ones, so that the cosine is the real part of the Hermitian product over the lengths.
    Relations have what :meth:`Decoder.relation_directions` makes of them, reciprocal ones included.

    Args:
        kg: the graph that the model was trained on.
        model: the model.
        vectors: what ``model.encode()`` gave in evaluation mode; None encodes.
    """

    def __init__(
        self, kg: KnowledgeGraph, model: LinkPredictor, vectors: Vectors | None = None
    ) -> None:
        self.kg = kg
        with evaluating(model), torch.no_grad():
            vectors = vectors or model.encode()
            self.entities = vectors.entities.detach().float()
            self.relations = model.decoder.relation_directions(vectors.relations).detach().float()

    def of(self, name: str, top: int = 10, *, relation: bool = False) -> list[Neighbour]:
        """The ``top`` entities nearest to the entity ``name``, or relations to the relation.

        Equal cosines come in the order of the vocabulary, reciprocal relations last.

        Raises:
            UnknownNameError: a name that the graph lacks; the message lists close matches.
            ConfigError: ``top`` is below 1.
            NumericError: a vector is not finite.
        """
        if top < 1:
            raise ConfigError(f"top must be at least 1, not {top}: it is the number of neighbours")
        names = self.kg.relations if relation else self.kg.entities
        counted = self.kg.degrees.of_relations if relation else self.kg.degrees.of_entities
        index = names.id(name)
        cosines = self.cosines(index, relation=relation)
        cosines[index] = -torch.inf
        nearest = torch.sort(cosines, descending=True, stable=True).indices[: len(cosines) - 1]
        return [
            Neighbour(
                name=names[place % len(names)],
                cosine=float(cosines[place]),
                degree=int(counted[place]),
                reciprocal=place >= len(names),
            )
            for place in nearest[:top].tolist()
        ]

    def cosines(self, index: int, *, relation: bool = False) -> Tensor:
        """(E,) or (2R,) cosines with one entity or relation; 0 where a vector is all zeros."""
        table = self.relations if relation else self.entities
        lengths = torch.linalg.vector_norm(table, dim=1)
        smallest = torch.finfo(table.dtype).tiny
        cosines: Tensor = table @ table[index] / (lengths * lengths[index]).clamp(min=smallest)
        if not torch.isfinite(cosines).all():
            raise NumericError(f"the model's vectors are not all finite: {DIVERGED}")
        return cosines.clamp(-1, 1).cpu()
