import pytest

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.mirrors import InversePair, count_mirrored, inverse_pairs, mirror_warnings


def family():
    """Relations by id: parent 0, child 1, near 2, knows 3."""
    return KnowledgeGraph.from_names(
        train=[
            ("a", "parent", "b"), ("c", "parent", "d"), ("e", "parent", "f"), ("e", "parent", "f"),
            ("g", "parent", "h"), ("i", "parent", "j"), ("i", "parent", "k"),
            ("b", "child", "a"), ("d", "child", "c"), ("f", "child", "e"), ("h", "child", "g"),
            ("a", "near", "c"), ("c", "near", "a"), ("a", "near", "e"),
            ("d", "knows", "d"), ("b", "knows", "a"),
        ],
        valid=[("e", "near", "a"), ("c", "knows", "e")],
        test=[
            ("j", "child", "k"),   # another pair of entities
            ("j", "child", "i"),   # i parent j is in train
            ("a", "knows", "b"),   # b knows a is in train
            ("a", "parent", "b"),  # b child a is, twice over: as an inverse, and itself
            ("b", "near", "a"),    # a parent b is in train, but near is no inverse of it
            ("d", "knows", "d"),   # its own reverse
        ],
    )  # fmt: skip


def test_inverse_relations_are_found_by_the_share_of_the_one_with_fewer_triples():
    """Child has 6 triples, of which 5 have their reverse among the 6 of parent."""
    assert inverse_pairs(family()) == [InversePair(0, 1, pytest.approx(5 / 6))]
    # 3 of 4 are too few; 4 of 5 are enough; one alone may be chance.
    for names, reverse, found in ((4, 3, 0), (5, 4, 1), (1, 1, 0), (2, 2, 1)):
        rows = [(f"x{i}", "of", f"y{i}") for i in range(9)]
        back = [(f"y{i}", "has", f"x{i}") for i in range(reverse)]
        back += [(f"z{i}", "has", "x0") for i in range(names - reverse)]
        kg = KnowledgeGraph.from_names(rows + back)
        pairs = [InversePair(1, 0, pytest.approx(reverse / names))] * found
        assert inverse_pairs(kg) == pairs


def test_mirrors_are_counted_under_the_relation_and_its_inverse():
    kg = family()
    assert count_mirrored(kg, kg.valid, []) == 1
    assert count_mirrored(kg, kg.test, []) == 1
    assert count_mirrored(kg, kg.test, inverse_pairs(kg)) == 3
    summary = kg.summary()
    assert [summary[key] for key in ("valid_mirrors", "test_mirrors", "inverse_pairs")] == [1, 3, 1]


def test_the_warning_says_how_many_and_under_which_relations():
    (warning,) = mirror_warnings(family())
    assert warning.startswith("1 of 2 valid triples and 3 of 6 test triples have their mirror in")
    assert "(inverse relations: 'parent' and 'child')" in warning
    near = KnowledgeGraph.from_names([("a", "r", "b")], test=[("b", "r", "a")])
    (warning,) = mirror_warnings(near)
    assert warning.startswith("1 of 1 test triples have their mirror in train")
    assert "inverse" not in warning
    assert mirror_warnings(KnowledgeGraph.from_names([("a", "r", "b"), ("b", "r", "a")])) == []
