"""What the ranking needs of a model: scores of queries against a slice of the entities."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class Scorer(Protocol):
    """A model as the evaluation sees it. B queries, E entities, K candidates."""

    num_entities: int

    def query(self, heads: Tensor, relations: Tensor) -> Any:
        """Whatever :meth:`scores` needs of B queries (head, relation, ?); (B,) ids each."""
        ...

    def scores(self, query: Any, start: int, stop: int) -> Tensor:
        """(B, stop - start) float32: scores of the entities ``start`` to ``stop - 1``."""
        ...

    def gather(self, query: Any, candidates: Tensor) -> Tensor:
        """(B, K) float32: scores of the given candidates, (B, K) ids."""
        ...
