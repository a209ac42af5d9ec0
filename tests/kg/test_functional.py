import pytest

from dglkgmix.kg.functional import functional
from dglkgmix.kg.graph import KnowledgeGraph


def graph(heads, second):
    """``heads`` heads of relation 0 with a tail each; the first ``second`` have another one."""
    rows = [(i, 0, 100) for i in range(heads)] + [(i, 0, 101) for i in range(second)]
    return KnowledgeGraph.from_arrays(rows, entities=102, relations=1)


@pytest.mark.parametrize(
    ("heads", "second", "expected"),
    [(20, 1, True), (20, 2, False), (19, 0, False), (40, 2, True), (40, 3, False)],
)
def test_nineteen_of_twenty_heads_have_one_tail(heads, second, expected):
    """The reciprocal relation has one or two heads: too few."""
    assert functional(graph(heads, second)).tolist() == [expected, False]


def test_another_share():
    assert functional(graph(20, 5), 0.75).tolist() == [True, False]
    assert functional(graph(20, 5), 0.8).tolist() == [False, False]


def test_an_inverse_functional_relation_and_copies_of_a_triple():
    rows = [(50, 0, i) for i in range(20)] * 2
    assert functional(KnowledgeGraph.from_arrays(rows, entities=51)).tolist() == [False, True]
