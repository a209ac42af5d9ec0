import pytest

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.statistics import functional, repeat_warnings, unseen_warnings


def test_everything_is_counted():
    """Case 37, and names that only some splits have."""
    kg = KnowledgeGraph.from_names(
        train=[
            ("a", "r", "b"), ("a", "r", "b"), ("a", "r", "b"),
            ("b", "s", "b"), ("b", "s", "b"), ("c", "r", "a"),
        ],
        valid=[("a", "only_valid", "v"), ("x", "both", "a"), ("a", "r", "b")],
        test=[
            ("a", "r", "b"),     # in train and valid, too
            ("b", "new", "a"),   # a r b is in train: leaks under another relation
            ("b", "s", "b"),     # its reverse is itself, in train
            ("t", "both", "x"),
            ("t", "both", "x"),
        ],
    )  # fmt: skip
    assert kg.summary() == {
        "entities": 6,
        "relations": 5,
        "train": 6,
        "valid": 3,
        "test": 5,
        "duplicates": 4,
        "overlap": 2,
        "reciprocal_leakage": 2,
        "valid_mirrors": 0,
        "test_mirrors": 0,
        "inverse_pairs": 0,
        "self_loops": 1,
        "entities_only_in_valid": 1,
        "entities_only_in_test": 1,
        "relations_only_in_valid": 1,
        "relations_only_in_test": 1,
        "entities_not_in_train": 3,
        "relations_not_in_train": 3,
        "entities_alike": 0,
        "relations_alike": 0,
    }


def test_a_graph_without_faults():
    summary = KnowledgeGraph.from_arrays([[0, 0, 1]]).summary()
    found = {key: value for key, value in summary.items() if value}
    assert found == {"entities": 2, "relations": 1, "train": 1}


def test_direction_matters_for_leakage():
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]], test=[[0, 1, 1], [0, 2, 1], [1, 0, 0]])
    assert kg.summary()["reciprocal_leakage"] == 1


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


def test_training_triples_in_other_splits_are_told():
    rows = [[0, 0, 1], [1, 0, 2], [2, 0, 0]]
    kg = KnowledgeGraph.from_arrays(rows, [[1, 0, 2], [1, 0, 2], [0, 0, 2]], [[2, 0, 1]])
    (warning,) = repeat_warnings(kg)
    assert warning.startswith("2 of 3 valid triples are training triples, too: figures are too")
    assert repeat_warnings(KnowledgeGraph.from_arrays(rows)) == []


def test_most_triples_of_a_split_with_unseen_names_are_told():
    """Two of three in valid, by a relation and a tail; half of those in test is not most."""
    kg = KnowledgeGraph.from_names(
        train=[("a", "r", "b"), ("b", "r", "c")],
        valid=[("a", "s", "b"), ("a", "r", "C"), ("a", "r", "c")],
        test=[("A", "r", "b"), ("c", "r", "a")],
    )
    (warning,) = unseen_warnings(kg)
    assert warning.startswith("2 of 3 valid triples have an entity or relation that no training")
