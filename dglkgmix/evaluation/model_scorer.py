"""A link predictor as the evaluation sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from dglkgmix.models.link_predictor import LinkPredictor


class ModelScorer:
    """Scores of a link predictor in evaluation mode, always in float32.

    The entities are encoded once, here; the model may train on afterwards, and every module is
    left in the mode it was in.
    """

    def __init__(self, model: LinkPredictor) -> None:
        self.model = model
        with evaluating(model), torch.no_grad():
            self.vectors = model.encode()
        self.num_entities = len(self.vectors.entities)

    def query(self, heads: Tensor, relations: Tensor) -> Tensor:
        """(B, D) query vectors of (B,) heads and relations."""
        device = self.vectors.entities.device
        with evaluating(self.model), torch.no_grad():
            return self.model.query(self.vectors, heads.to(device), relations.to(device))

    def scores(self, query: Tensor, start: int, stop: int) -> Tensor:
        """(B, stop - start) scores of a slice of the entities, per-entity bias included."""
        bias = None if self.model.bias is None else self.model.bias[start:stop]
        with evaluating(self.model), torch.no_grad():
            return self.model.decoder.score_all(
                query, self.vectors.entities[start:stop], bias
            ).float()

    def gather(self, query: Tensor, candidates: Tensor) -> Tensor:
        """(B, K) scores of given candidates."""
        with evaluating(self.model), torch.no_grad():
            return self.model.score(self.vectors, query, candidates.to(query.device)).float()


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
