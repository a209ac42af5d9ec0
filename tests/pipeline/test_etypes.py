import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError, DataError, OutOfRangeError, UnknownNameError
from dglkgmix.pipeline.etypes import by_type, canonical, reverses
from tests.pipeline.graphs import CAUSES, INTERACTS, REVERSE, TREATS, medical, two_way


def test_a_type_is_named_in_full_or_by_its_relation():
    types = medical().canonical_etypes
    assert canonical(types, "treats") == TREATS
    assert canonical(types, TREATS) == TREATS


def test_an_unknown_type_is_named_with_close_matches():
    types = medical().canonical_etypes
    with pytest.raises(
        UnknownNameError, match="unknown edge type 'treat'; close matches: 'treats'"
    ):
        canonical(types, "treat")
    with pytest.raises(ValueError, match=r"unknown edge type \('gene', 'treats', 'gene'\)"):
        canonical(types, ("gene", "treats", "gene"))
    with pytest.raises(UnknownNameError, match=r"'zzz'; there are \[\('drug', 'targets', 'gene'\)"):
        canonical(types, "zzz")


def test_an_ambiguous_type_is_refused():
    types = [("drug", "binds", "gene"), ("gene", "binds", "gene")]
    with pytest.raises(DataError, match=r"stands for \('drug'.*and \('gene'.*name it in full"):
        canonical(types, "binds")


def test_edge_ids_by_type():
    found = by_type(medical(torch.int32), {"treats": torch.tensor([3, 0]), CAUSES: [1]})
    assert {etype: ids.tolist() for etype, ids in found.items()} == {TREATS: [3, 0], CAUSES: [1]}
    assert found[TREATS].dtype == torch.int64


def test_edge_ids_without_a_type():
    graph = dgl.graph(([0, 1], [1, 2]))
    assert by_type(graph, torch.tensor([1]))["_N", "_E", "_N"].tolist() == [1]
    with pytest.raises(DataError, match="edge ids without a type in a graph of 4: give a dict"):
        by_type(medical(), torch.tensor([1]))


@pytest.mark.parametrize("wrong", [4, -1])
def test_an_edge_that_is_not_there(wrong):
    with pytest.raises(OutOfRangeError, match=rf"'treats', 'disease'\) with id {wrong}:"):
        by_type(medical(), {"treats": torch.tensor([0, wrong])})


def test_a_mask_is_no_edge_ids():
    with pytest.raises(DataError, match="must be integers"):
        by_type(medical(), {"treats": torch.ones(4, dtype=torch.bool)})


def test_reverses_in_one_order_or_both():
    graph = two_way()
    both = REVERSE | {reverse: original for original, reverse in REVERSE.items()}
    found = reverses(graph, REVERSE)
    assert found["disease", "rev_treats", "drug"] == TREATS
    assert found["gene", "rev_interacts", "gene"] == INTERACTS
    assert len(found) == 4
    assert reverses(graph, both) == found
    assert reverses(graph, None) == {}


def test_the_order_of_reverse_edges_is_free():
    edges = {
        ("a", "r", "b"): ([0, 0, 1, 1], [2, 1, 0, 1]),
        ("b", "v", "a"): ([0, 1, 1, 2], [1, 1, 0, 0]),
    }
    assert reverses(dgl.heterograph(edges), {"r": "v"}) == {("b", "v", "a"): ("a", "r", "b")}


def test_edges_that_are_not_the_reverse_are_refused():
    same_count = {("a", "r", "b"): ([0, 1], [0, 1]), ("b", "v", "a"): ([0, 1], [1, 0])}
    fewer = {("a", "r", "b"): ([0, 1], [0, 1]), ("b", "v", "a"): ([0], [0])}
    other_types = {("a", "r", "b"): ([0, 1], [0, 1]), ("a", "v", "b"): ([0, 1], [0, 1])}
    for edges in (same_count, fewer, other_types):
        with pytest.raises(DataError, match=r"does not hold the edges of .* read backwards"):
            reverses(dgl.heterograph(edges), {"r": "v"})


@pytest.mark.parametrize(
    "given",
    [{"interacts": "interacts"}, {"treats": "rev_treats", "rev_treats": "rev_causes"}],
)
def test_a_type_belongs_to_one_pair(given):
    with pytest.raises(ConfigError, match="a type belongs to one pair"):
        reverses(two_way(), given)
