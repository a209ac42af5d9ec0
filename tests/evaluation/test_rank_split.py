"""A split's rank table from a scorer."""

from __future__ import annotations

import pytest

from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.popularity import PopularityScorer
from dglkgmix.evaluation.rank_split import rank_split
from dglkgmix.kg.graph import KnowledgeGraph

# Under r, training shows b twice and c once as tails; a is a head twice, d once.
KG = KnowledgeGraph.from_names(
    [("a", "r", "b"), ("d", "r", "b"), ("a", "r", "c")], test=[("d", "r", "c")]
)


@pytest.mark.parametrize("block", [None, 1])
def test_both_queries_of_each_row_by_hand(block: int | None) -> None:
    table = rank_split(PopularityScorer(KG), KG, "test", block)
    # (d, r, ?): b is known and leaves; c leads a and d. (?, r, c): a is known and leaves; d leads.
    assert list(table["rank"]) == [1.0, 1.0]
    assert list(table["candidates"]) == [3, 3]


def test_validation_ranks_do_not_depend_on_test_triples() -> None:
    """Case 64: popularity puts b, then c, before d; as a known answer b would leave."""
    facts = {
        "train": [("a", "r", "b"), ("d", "r", "b"), ("a", "r", "c")],
        "valid": [("d", "r", "d")],
    }
    tables = [
        rank_split(PopularityScorer(kg), kg, "valid")
        for kg in (
            KnowledgeGraph.from_names(**facts, test=test)  # type: ignore[arg-type]
            for test in ([("c", "r", "c")], [("d", "r", "c")])
        )
    ]
    # (d, r, ?): b is known and leaves; c stays, also where it is a test triple; a ties with d.
    assert [list(table["rank"]) for table in tables] == [[2.5, 2.0]] * 2
    assert [list(table["candidates"]) for table in tables] == [[3, 4]] * 2


def test_a_block_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="block"):
        rank_split(PopularityScorer(KG), KG, "test", 0)
