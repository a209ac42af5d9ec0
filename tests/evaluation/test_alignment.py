from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.errors import DataError
from dglkgmix.evaluation.alignment import align, triples
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.rank_split import rank_split
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.conftest import table_of
from tests.evaluation.stand_ins import TableScorer


@pytest.fixture
def table(toy, make_ranks):
    return make_ranks(toy, [1, 2, 3, 4])


def test_rows_in_any_order_meet_their_own_query(table):
    shuffled = table.select(np.array([2, 0, 3, 1]))
    first, second = align([table, shuffled])
    assert first["rank"].tolist() == second["rank"].tolist()
    for column in ("head", "relation", "tail", "direction"):
        assert first.names(column).to_pylist() == second.names(column).to_pylist()


def test_names_meet_though_their_codes_differ(toy_rows, make_ranks):
    """Another order of first appearance gives other ids, and other dictionaries."""
    turned = {split: rows[::-1] for split, rows in toy_rows.items()}
    first = make_ranks(KnowledgeGraph.from_names(*toy_rows.values()), [1, 2, 3, 4])
    second = make_ranks(KnowledgeGraph.from_names(*turned.values()), [2, 1, 4, 3])
    a, b = align([first, second])
    assert a["rank"].tolist() == b["rank"].tolist()


def test_a_triple_s_two_queries_share_a_unit(table):
    (aligned,) = align([table])
    units = triples(aligned)
    names = list(zip(aligned.names("head").to_pylist(), units.tolist(), strict=True))
    assert len(set(names)) == 2
    assert set(units.tolist()) == {0, 1}


def test_other_queries_are_refused(toy, toy_rows, make_ranks, table):
    toy_rows["test"][0] = ("d", "likes", "b")
    other = make_ranks(KnowledgeGraph.from_names(*toy_rows.values()), [1, 2, 3, 4])
    with pytest.raises(DataError, match=r"runs/a and runs/b .* different data.*\(d, likes, b\)"):
        align([table, other], ["runs/a", "runs/b"])
    with pytest.raises(DataError, match="4 and 2 queries"):
        align([table, table.select(np.array([0, 1]))])


def test_other_training_triples_are_refused(toy_rows, make_ranks, table):
    toy_rows["train"].append(("a", "knows", "c"))
    other = make_ranks(KnowledgeGraph.from_names(*toy_rows.values()), [1, 2, 3, 4])
    with pytest.raises(DataError, match=r"come from different data: \w+ of"):
        align([table, other])


def test_other_candidates_are_refused(toy, table):
    scorer = TableScorer(torch.zeros(6, 5, 5))
    other = rank_split(scorer, toy, "test", candidates=Candidates.of(toy, "typed"))
    with pytest.raises(DataError, match=r"x and y .*'all' and 'typed'.* --candidates"):
        align([table, other], ["x", "y"])


def test_duplicate_rows_pair_up_in_their_order():
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], None, [(0, 0, 1), (0, 0, 1)], entities=3)
    first, second = align([table_of(kg, [1, 2, 3, 1]), table_of(kg, [1, 2, 3, 1])])
    assert first["rank"].tolist() == second["rank"].tolist()
    assert set(triples(first).tolist()) == {0}
