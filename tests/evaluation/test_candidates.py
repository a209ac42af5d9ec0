from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.evaluation.candidates import RULES, Candidates, read_types
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.options import ReadOptions
from tests.evaluation import plain
from tests.evaluation.graphs import graphs, library
from tests.graphs import typed


def sets(candidates):
    """The candidates of each relation, a set each."""
    entities = len(candidates.classes)
    relations = torch.arange(len(candidates.allowed))
    mask = candidates.mask(relations, 0, entities)
    assert torch.equal(mask, candidates.contain(relations[:, None], torch.arange(entities)))
    return [set(row.nonzero()[:, 0].tolist()) for row in mask]


@given(graph=graphs(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_rule_is_that_of_plain_sets(graph, data):
    kg = library(graph)
    for rule in ("all", "observed", "typed"):
        found = Candidates.of(kg, rule)
        assert sets(found) == plain.candidates(graph, rule)
        assert found.everything == (sets(found) == plain.candidates(graph, "all"))
    kinds = st.sets(st.sampled_from("xyz"), min_size=1)
    types = dict(enumerate(data.draw(st.lists(kinds, min_size=graph.E, max_size=graph.E))))
    assert sets(Candidates.of(kg, types=types)) == plain.candidates(graph, "types", types)


def test_what_is_left_after_filtering_and_who_is_missed():
    """Relation 0 leads to 1, 2 and 3. (0, 0) has 1 and 2 known; 4 was never an answer."""
    kg = KnowledgeGraph.from_arrays([(0, 0, 1), (0, 0, 2), (5, 0, 3)], None, [(0, 0, 4)])
    observed = Candidates.of(kg, "observed")
    heads, relations = torch.tensor([0, 0, 4, 0]), torch.zeros(4, dtype=torch.long)
    answers = torch.tensor([3, 1, 2, 4])
    left, missed = observed.left(kg.known_index, heads, relations, answers)
    # 3; 1 and 3; all of 1 to 3, as nothing is known; 0, 3, 4 and 5 of all entities
    assert left.tolist() == [1, 2, 3, 4]
    assert missed.tolist() == [False, False, False, True]
    nothing = kg.index_of(kg.train[:0])
    assert observed.left(nothing, heads, relations, answers)[0].tolist() == [3, 3, 3, 6]


def typed_graph():
    """r leads to entity 1 of type 0 in training, s to nothing."""
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]], entities=list("xyz"), relations=["r", "s"])
    return typed(kg, [0, 0, 1], ("person", "town"))


def test_node_types_are_the_default_of_a_graph_that_has_them(toy):
    found = Candidates.of(typed_graph())
    assert found.rule == "node-types"
    assert sets(found) == [{0, 1}, {0, 1, 2}, {0, 1}, {0, 1, 2}]
    assert Candidates.of(toy).rule == "all"


@pytest.mark.parametrize(
    ("rule", "types", "message"),
    [
        ("node-types", None, "no node types"),
        ("seen", None, f"one of {', '.join(RULES)}, not 'seen'"),
        ("all", {}, "exclude each other"),
    ],
)
def test_a_rule_that_cannot_be(toy, rule, types, message):
    with pytest.raises(ConfigError, match=message):
        Candidates.of(toy, rule, types)


def test_types_of_a_file(write):
    path = write(["type\tentity", "person\tx ", "town\tx", "person\ty", "town\tz"], "types.tsv")
    found = read_types(path, typed_graph(), ReadOptions(strip=True))
    assert found == {0: {"person", "town"}, 1: {"person"}, 2: {"town"}}
    assert sets(Candidates.of(typed_graph(), types=found))[0] == {0, 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entity,type\nx,a\ny,a", r"1 of 3 entities have no type, first 'z'"),
        ("entity,type\nx,a\ny,a\nz,a\nyy,b", r"(?s)graph lacks: 1.*:5: unknown entity 'yy'.*'y'"),
        ("entity,type\nx,", ":2: the type is empty"),
        ("entity,kind\nx,a", "column 'type' is missing"),
    ],
)
def test_a_file_of_types_that_cannot_be_used(write, text, message):
    with pytest.raises(DataError, match=message):
        read_types(write([text], "types.csv"), typed_graph())


def test_types_are_read_from_delimited_text(write):
    with pytest.raises(DataError, match=r"read from \.csv"):
        read_types(write([], "types.parquet"), typed_graph())
