"""What the evaluation needs of a model: scores of queries against a slice of the entities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn

from dglkgmix.evaluation.exact_product import candidate_product, product, rounded

if TYPE_CHECKING:
    from dglkgmix.models.link_predictor import LinkPredictor


class Scorer(Protocol):
    """A model as the evaluation sees it. B queries, E entities, K candidates.

    A score must follow from its query's row and its entity alone, not from the other rows or the
    slice: else entities that score the same do so in some blocks only. A float32 matrix product
    does not do that; :mod:`dglkgmix.evaluation.exact_product` has one that does.
    """

    num_entities: int

    def query(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B, ...) what :meth:`scores` needs of B queries (head, relation, ?); (B,) ids each."""
        ...

    def scores(self, query: Tensor, start: int, stop: int) -> Tensor:
        """(B, stop - start) float32: scores of the entities ``start`` to ``stop - 1``."""
        ...

    def gather(self, query: Tensor, candidates: Tensor) -> Tensor:
        """(B, K) float32: scores of the given candidates, (B, K) ids."""
        ...


class ModelScorer:
    """Scores of a link predictor in evaluation mode, always in float32.

    The entities are encoded once, here; the model may train on afterwards, and every module is
    left in the mode it was in. Scores that are products are exact products of rounded vectors
    (:mod:`dglkgmix.evaluation.exact_product`): a score follows from its query and entity alone.
    """

    def __init__(self, model: LinkPredictor) -> None:
        self.model = model
        with evaluating(model), torch.no_grad():
            self.vectors = model.encode()
            self._exact = rounded(self.vectors.entities) if model.decoder.is_bilinear else None
        self.num_entities = len(self.vectors.entities)

    def query(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B, D) query vectors of (B,) heads and relations."""
        device = self.vectors.entities.device
        with evaluating(self.model), torch.no_grad():
            query = self.model.query(self.vectors, heads.to(device), relations.to(device))
            return query if self._exact is None else rounded(query)

    def scores(self, query: Tensor, start: int, stop: int) -> Tensor:
        """(B, stop - start) scores of a slice of the entities, per-entity bias included."""
        bias = None if self.model.bias is None else self.model.bias[start:stop]
        with evaluating(self.model), torch.no_grad():
            if self._exact is not None:
                return product(query, self._exact[start:stop], bias)
            entities = self.vectors.entities[start:stop]
            return self.model.decoder.score_all(query, entities, bias).float()

    def gather(self, query: Tensor, candidates: Tensor) -> Tensor:
        """(B, K) scores of given candidates."""
        candidates = candidates.to(query.device)
        with evaluating(self.model), torch.no_grad():
            if self._exact is not None:
                bias = None if self.model.bias is None else self.model.bias[candidates]
                return candidate_product(query, self._exact[candidates], bias)
            return self.model.score(self.vectors, query, candidates).float()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside; each module's own mode again afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
