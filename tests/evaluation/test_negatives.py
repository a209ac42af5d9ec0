from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.evaluation import negatives
from dglkgmix.evaluation.negatives import (
    draw_negatives,
    labelled_scores,
    read_false_triples,
    score_triples,
)
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.conftest import table_of
from tests.evaluation.graphs import graphs, library
from tests.evaluation.stand_ins import TableScorer


def draw(kg, seed=0, types=None):
    generator = torch.Generator().manual_seed(seed)
    queries = evaluation_queries(kg, "test")
    return draw_negatives(queries, kg.known_index, kg.num_entities, generator, types)


@given(graph=graphs(), seed=st.integers(0, 99), rounds=st.sampled_from([0, 1, 20]), data=st.data())
@settings(max_examples=60, deadline=None)
def test_negatives_are_never_known_and_found_wherever_one_is(graph, seed, rounds, data):
    types = data.draw(st.none() | st.lists(st.integers(0, 1), min_size=graph.E, max_size=graph.E))
    kind = types or [0] * graph.E
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(negatives, "ROUNDS", rounds)
        found = draw(library(graph), seed, None if types is None else torch.tensor(types))
    for entity, (h, r, t) in zip(found.tolist(), graph.queries("test"), strict=True):
        free = {v for v in range(graph.E) if (h, r, v) not in graph.known and kind[v] == kind[t]}
        assert entity in free if free else entity == -1


def test_negatives_are_uniform():
    kg = KnowledgeGraph.from_arrays([(0, 0, 1), (0, 0, 2)], None, [(0, 0, 3)] * 3000, entities=8)
    drawn = np.bincount(draw(kg)[:3000], minlength=8)
    assert drawn[1:4].tolist() == [0, 0, 0]
    assert drawn[[0, 4, 5, 6, 7]] == pytest.approx(600, abs=100)


def test_the_same_seed_draws_the_same():
    kg = KnowledgeGraph.from_arrays([(0, 0, 1)], None, [(0, 0, 2)] * 20, entities=9)
    assert torch.equal(draw(kg, 3), draw(kg, 3))
    assert not torch.equal(draw(kg, 3), draw(kg, 4))


def test_triples_are_scored_in_batches(monkeypatch):
    monkeypatch.setattr(negatives, "BATCH", 2)
    table = torch.arange(2 * 3 * 3).reshape(2, 3, 3)
    heads, relations, tails = torch.tensor([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    found = score_triples(TableScorer(table), heads, relations, tails)
    assert found.tolist() == [table[1, 0, 2], table[0, 1, 1], table[1, 2, 0]]
    assert found.dtype == np.float32


@pytest.fixture
def case():
    """Test triple (0, 0, 1); d_tail(1, 0) is 2, d_tail(0, r0⁻¹) is 0."""
    kg = KnowledgeGraph.from_arrays([(2, 0, 1), (3, 0, 1)], None, [(0, 0, 1)], entities=4)
    scores = torch.arange(2 * 4 * 4).reshape(2, 4, 4)
    return kg, TableScorer(scores), table_of(kg, [1, 2], scores=[50, 60])


def test_a_sampled_false_triple_stands_for_its_true_one_s_degree(case):
    kg, scorer, table = case
    found = labelled_scores(scorer, kg, "test", table)
    assert found.labels.tolist() == [True, True, False, False]
    assert found.degrees.tolist() == [2, 0, 2, 0]
    assert found.scores[:2].tolist() == [50, 60]
    assert found.scores[2] in {float(scorer.table[0, 0, v]) for v in (0, 2, 3)}
    assert found.scores[3] == scorer.table[1, 1, 1]  # 0, 2 and 3 are known heads of 1


def test_given_false_triples_are_asked_both_ways_and_keep_their_degree(case):
    kg, scorer, table = case
    found = labelled_scores(scorer, kg, "test", table, false_triples=torch.tensor([[1, 0, 1]]))
    assert found.scores[2:].tolist() == [scorer.table[0, 1, 1], scorer.table[1, 1, 1]]
    assert found.labels.tolist() == [True, True, False, False]
    assert found.degrees.tolist() == [2, 0, 2, 0]


def test_names_become_ids_once_each(toy, write):
    path = write(["lone\tlikes\ta", "c\tknows\td", "lone\tlikes\ta"], "false.txt")
    found = read_false_triples(path, toy).tolist()
    assert sorted(found) == sorted(
        [toy.entities.id(h), toy.relations.id(r), toy.entities.id(t)]
        for h, r, t in (("lone", "likes", "a"), ("c", "knows", "d"))
    )


def test_true_ones_are_left_out_with_a_warning(toy, write, caplog):
    path = write(["a\tlikes\tb", "b\tlikes\ta", "c\tknows\td"], "false.txt")
    assert len(read_false_triples(path, toy)) == 1
    assert "2 of 3 triples are true" in caplog.text
    with pytest.raises(DataError, match="no false triples"):
        read_false_triples(write(["a\tlikes\tb"], "false.txt"), toy)


def test_an_unknown_name_is_told_with_the_file(toy, write):
    with pytest.raises(UnknownNameError, match=r"false\.txt: .*'lonee'.*'lone'"):
        read_false_triples(write(["lonee\tlikes\ta"], "false.txt"), toy)
