from __future__ import annotations

from hypothesis import given, settings

from dglkgmix.evaluation.queries import evaluation_queries
from tests.evaluation.graphs import graphs, library


@given(graph=graphs())
@settings(max_examples=30, deadline=None)
def test_both_directions_of_every_row(graph):
    found = evaluation_queries(library(graph), "test")
    columns = (found.heads, found.relations, found.answers)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == graph.queries("test")
    rows = len(graph.test)
    assert found.direction.tolist() == [0] * rows + [1] * rows
    assert found.triple.tolist() == [*range(rows), *range(rows)]


def test_a_query_is_described_as_a_person_would_write_it(toy):
    queries = evaluation_queries(toy, "test")
    assert [queries.describe(i) for i in range(4)] == [
        "(d, likes, ?)",
        "(lone, knows, ?)",
        "(?, likes, c)",
        "(?, knows, c)",
    ]
