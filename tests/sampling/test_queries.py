"""1-N batches."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.sampling.seeds import generator

# 0 -r0-> 1, 2 and 3; 1 -r0-> 1 (a self-loop): with reciprocals (r1) five distinct queries
TRAIN = [[0, 0, 1], [0, 0, 2], [0, 0, 3], [0, 0, 1], [1, 0, 1]]


@pytest.fixture
def kg() -> KnowledgeGraph:
    return KnowledgeGraph.from_arrays(TRAIN, entities=5, relations=1)


def seen(batches: list) -> list[tuple[int, int, int, int]]:
    """(head, relation, tail, edge) of all positives."""
    rows = []
    for batch in batches:
        parts = (batch.heads[batch.rows], batch.relations[batch.rows], batch.tails, batch.edges)
        rows += list(zip(*(part.tolist() for part in parts), strict=True))
    return rows


class TestOneBatch:
    def test_by_hand(self, kg: KnowledgeGraph) -> None:
        batches = QueryBatches(kg, 4)
        # the index sorts queries: (0, r0), (1, r0), (1, r1), (2, r1), (3, r1)
        batch = batches.batch(torch.tensor([2, 0]))
        assert batch.heads.tolist() == [1, 0]
        assert batch.relations.tolist() == [1, 0]
        assert batch.rows.tolist() == [0, 0, 1, 1, 1]
        assert batch.tails.tolist() == [0, 1, 1, 2, 3]
        # edges: 0-3 as in the file without the repeat, 4-7 their reciprocals
        assert batch.edges.tolist() == [4, 7, 0, 1, 2]
        assert len(batch) == 2

    def test_edges_are_the_positives(self, kg: KnowledgeGraph) -> None:
        for head, relation, tail, edge in seen(list(QueryBatches(kg, 2).epoch(generator(0)))):
            assert kg.edges[edge].tolist() == [head, relation, tail]
        for batch in QueryBatches(kg, 3).epoch(generator(3)):
            places = list(zip(batch.rows.tolist(), batch.tails.tolist(), strict=True))
            assert places == sorted(set(places))


class TestEpoch:
    @pytest.mark.parametrize(("size", "sizes"), [(4, [4, 1]), (1, [1] * 5), (5, [5]), (9, [5])])
    def test_the_last_query_is_trained_on(self, kg, size: int, sizes: list[int]) -> None:
        """Case 12: what is left over makes a batch of its own."""
        epoch = list(QueryBatches(kg, size).epoch(generator(1)))
        assert [len(batch) for batch in epoch] == sizes
        assert sorted(edge for *_, edge in seen(epoch)) == list(range(8))

    def test_the_order_is_drawn_from_the_generator(self, kg: KnowledgeGraph) -> None:
        batches = QueryBatches(kg, 2)
        first, again, other = (seen(list(batches.epoch(generator(s)))) for s in (1, 1, 2))
        assert first == again
        assert first != other
        assert sorted(first) == sorted(other)

    def test_a_share_of_the_queries(self, kg: KnowledgeGraph) -> None:
        epoch = list(QueryBatches(kg, 1).epoch(generator(0), torch.tensor([4, 1])))
        assert sorted((int(b.heads), int(b.relations)) for b in epoch) == [(1, 0), (3, 1)]


def test_a_batch_size_of_nothing_is_refused(kg: KnowledgeGraph) -> None:
    with pytest.raises(ConfigError, match="batch_size is 0"):
        QueryBatches(kg, 0)
