"""What selection follows, from ranks by hand."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training.goal import goal_weights


@pytest.fixture(scope="module")
def kg() -> KnowledgeGraph:
    """Relation 0 leads to entity 0 ten times and to entity 1 once; 2 is no answer of it."""
    train = [(i, 0, 0) for i in range(3, 13)] + [(3, 0, 1)]
    return KnowledgeGraph.from_arrays(
        train, [(13, 0, 0), (13, 0, 1), (13, 0, 2)], None, entities=14, relations=1
    )


def test_a_goal_is_the_mean_over_the_queries_of_its_bins(kg: KnowledgeGraph) -> None:
    """Tails 0, 1, 2 have degrees 10, 1, 0; their head 13 has none, three times."""
    queries = evaluation_queries(kg, "valid")
    reciprocal = torch.tensor([1.0, 0.5, 0.25, 0.2, 0.1, 0.05], dtype=torch.float64)

    def goal(select: str) -> float:
        return float(reciprocal @ goal_weights(select, kg, queries))

    zero = (0.25 + 0.2 + 0.1 + 0.05) / 4
    assert goal("medium") == pytest.approx(1.0)
    assert goal("low") == pytest.approx(0.5)
    assert goal("zero") == pytest.approx(zero)
    assert goal("zero=3,low=1") == pytest.approx(0.75 * zero + 0.25 * 0.5)
    assert goal("mrr") == pytest.approx(float(reciprocal.mean()))
    with pytest.raises(ConfigError, match="no validation query falls into 'high'"):
        goal("high,low")
