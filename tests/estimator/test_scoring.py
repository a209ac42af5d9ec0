"""The scorer for the low bin."""

from __future__ import annotations

import math

import numpy as np

from dglkgmix.estimator import low_degree_mrr


class Ranked:
    """Ranks and degrees as given."""

    def __init__(self, degrees: list[list[int]]) -> None:
        self.degrees = degrees

    def rank(self, X: object, y: object = None) -> object:
        return np.array([[1.0, 2.0], [4.0, 5.0]])

    def tail_relation_degree(self, X: object, y: object = None) -> object:
        return np.array(self.degrees)


def test_queries_from_one_to_below_ten_count() -> None:
    # Degrees 1 and 9 are low, 0 and 10 are not: (1 + 1/5) / 2.
    assert low_degree_mrr(Ranked([[1, 0], [10, 9]]), None) == 0.6  # type: ignore[arg-type]
    assert math.isnan(low_degree_mrr(Ranked([[0, 0], [10, 60]]), None))  # type: ignore[arg-type]
