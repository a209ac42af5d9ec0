"""What the ranking needs of a model: scores of queries against a slice of the entities."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


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
