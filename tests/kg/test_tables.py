import numpy as np
import pyarrow as pa
import pytest

from dglkgmix.errors import DataError
from dglkgmix.kg.tables import TripleTable, encode, encode_fields, merge


def test_entities_and_relations_share_names_and_are_told_apart_by_place():
    table = TripleTable.from_rows([("a", "r", "b"), ("r", "a", "b")], "x")
    assert sorted(table.names.to_pylist()) == ["a", "b", "r"]
    entities, relations, train, *_ = encode(table, TripleTable.empty(), TripleTable.empty())
    assert entities.names == ("a", "b", "r")
    assert relations.names == ("r", "a")
    assert train.tolist() == [[0, 0, 1], [2, 1, 1]]


def test_names_that_a_change_makes_equal_become_one():
    table = TripleTable.from_rows([("a", "r", " A"), ("b", "r", "a ")], "x").renamed(
        lambda name: name.strip().lower(), "f"
    )
    assert sorted(table.names.to_pylist()) == ["a", "b", "r"]
    assert list(zip(*table.columns(), strict=True)) == [("a", "r", "a"), ("b", "r", "a")]
    with pytest.raises(DataError, match="f: triple 2: the tail holds nothing but white space"):
        TripleTable.from_rows([("a", "r", "b"), ("b", "r", " ")], "x").renamed(str.strip, "f")


def test_ids_by_first_appearance_over_splits():
    tables = [
        TripleTable.from_rows(rows, "x")
        for rows in ([("c", "s", "b")], [("d", "r", "c")], [("a", "s", "d"), ("e", "q", "a")])
    ]
    entities, relations, _, _, test = encode(*tables)
    assert entities.names == ("c", "b", "d", "a", "e")
    assert relations.names == ("s", "r", "q")
    assert test.tolist() == [[3, 0, 2], [4, 2, 3]]


def test_parts_with_names_of_their_own_are_merged():
    parts = [encode_fields(pa.array(list(text), pa.large_string())) for text in ("arb", "bra")]
    # The same name twice in one part, as two spellings of it in CSV may give.
    parts.append((pa.array(["a", "r", "a"], pa.large_string()), np.array([[0, 1, 2]])))
    table = merge(parts)
    assert list(zip(*table.columns(), strict=True)) == [
        ("a", "r", "b"),
        ("b", "r", "a"),
        ("a", "r", "a"),
    ]
    assert len(table.names) == 3


def test_empty_tables():
    assert TripleTable.empty().columns() == ([], [], [])
