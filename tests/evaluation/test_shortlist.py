from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.evaluation import shortlist
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.shortlist import make_shortlists, read_shortlists, shortlists
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.stand_ins import TableScorer


@pytest.fixture
def scorer(toy):
    """(likes, a): a 0, b 3, c 1, d 2, lone 2; everything else 0."""
    table = torch.zeros(2 * toy.num_relations, 5, 5)
    ids = [toy.entities.id(name) for name in ("a", "b", "c", "d", "lone")]
    table[toy.relations.id("likes"), ids[0], ids] = torch.tensor([0.0, 3, 1, 2, 2])
    return TableScorer(table)


def names(kg, entities):
    return [kg.entities[i] for i in entities]


def test_the_best_candidates_with_what_is_known_of_them(toy, scorer):
    """Training has b and c for (a, likes): a, d and lone are left, and d and lone tie."""
    head = torch.tensor([toy.entities.id("a")])
    relation = torch.tensor([toy.relations.id("likes")])
    asked = toy, toy.train_index, head, relation, scorer.query(head, relation)
    found = shortlists(*asked, candidates=Candidates.of(toy))
    order = sorted(("d", "lone"), key=toy.entities.id)
    assert names(toy, found.entities[0, :3]) == [*order, "a"]
    assert found.scores[0].tolist() == [2, 2, 0, -np.inf, -np.inf]
    assert found.filled[0].tolist() == [True, True, True, False, False]
    assert found.degrees[0, :3].tolist() == [0, 0, 0]
    assert (found.known.tolist(), found.relations.tolist()) == ([2], relation.tolist())


def test_degrees_and_places_of_a_shorter_list(toy, scorer, monkeypatch):
    monkeypatch.setattr(shortlist, "DEPTH", 2)
    head, relation = torch.tensor([toy.entities.id("lone")]), torch.tensor([0])
    nothing = toy.index_of(toy.train[:0])
    scores = torch.zeros(1, 5)
    scores[0, toy.entities.id("c")] = 1
    likes = torch.full_like(relation, toy.relations.id("likes"))
    found = shortlists(toy, nothing, head, likes, scores, candidates=Candidates.of(toy))
    assert names(toy, found.entities[0])[0] == "c"
    assert found.entities.shape == (1, 2)
    assert found.degrees[0, 0] == 2  # a and b like c
    assert found.known.tolist() == [0]


@pytest.mark.parametrize("relations", [[], [1, 0, 3, 0, 2, 1]])
def test_lists_come_in_the_order_of_the_queries(toy, scorer, relations):
    """They are made in the order of relations, in blocks."""
    heads = torch.arange(len(relations)) % toy.num_entities
    asked, among = torch.tensor(relations, dtype=torch.long), Candidates.of(toy)
    found = make_shortlists(scorer, toy, toy.train_index, heads, asked, candidates=among)
    assert found.relations.tolist() == relations
    for i, query in enumerate(zip(heads[:, None], asked[:, None], strict=True)):
        alone = shortlists(toy, toy.train_index, *query, scorer.query(*query), candidates=among)
        for one, all_of_them in zip(vars(alone).values(), vars(found).values(), strict=True):
            assert np.array_equal(one[0], all_of_them[i])


def test_lists_of_a_split_leave_out_what_earlier_splits_hold(toy, scorer):
    """valid: (b likes a), (a only_valid d). The list of (b, likes, ?) leaves c out, not a."""
    lists, true = read_shortlists(scorer, toy, "valid")
    assert true.shape == (4, 5)
    assert true.sum() == 4  # every held-out fact stands among five candidates
    forward = toy.relations.id("likes")
    (row,) = (lists.relations == forward).nonzero()[0]
    listed = names(toy, lists.entities[row, lists.filled[row]])
    assert sorted(listed) == ["a", "b", "d", "lone"]
    assert names(toy, lists.entities[row, true[row]]) == ["a"]
    # test: (d likes c), (lone knows c). (?, likes, c) has a and b in train.
    lists, true = read_shortlists(scorer, toy, "test")
    (row,) = (lists.relations == forward + toy.num_relations).nonzero()[0]
    assert lists.known[row] == 2
    assert names(toy, lists.entities[row, true[row]]) == ["d"]


def test_test_lists_leave_validation_facts_out(toy_rows):
    toy_rows["test"] = [("b", "likes", "d")]
    kg = KnowledgeGraph.from_names(*toy_rows.values())
    scorer = TableScorer(torch.zeros(6, 4, 4))
    lists, true = read_shortlists(scorer, kg, "test")
    (row,) = (lists.relations == kg.relations.id("likes")).nonzero()[0]
    assert sorted(names(kg, lists.entities[row, lists.filled[row]])) == ["b", "d"]
    assert names(kg, lists.entities[row, true[row]]) == ["d"]


def test_candidates_alone_are_listed(toy, scorer):
    """Of (a, likes, ?) among the tails of likes in training, b and c: both are known."""
    head, relation = torch.tensor([toy.entities.id("a")]), torch.tensor([toy.relations.id("likes")])
    asked = toy, toy.train_index, head, relation, scorer.query(head, relation)
    found = shortlists(*asked, candidates=Candidates.of(toy, "observed"))
    assert not found.filled.any()
    (lists, _) = read_shortlists(scorer, toy, "valid", Candidates.of(toy, "observed"))
    (row,) = (lists.relations == relation.item()).nonzero()[0]
    assert names(toy, lists.entities[row, lists.filled[row]]) == ["b"]  # (b, likes): c is known


@pytest.mark.parametrize("count", [1, 3, 7, 12])
@pytest.mark.parametrize("levels", [1, 3, 100])
def test_ties_come_in_the_order_of_ids(count, levels):
    """Against a stable sort of whole rows, with −inf among the scores."""
    generator = torch.Generator().manual_seed(count)
    scores = torch.randint(levels, (40, 12), generator=generator).float()
    scores[torch.rand(40, 12, generator=generator) < 0.3] = -torch.inf
    expected = scores.sort(dim=1, descending=True, stable=True).indices[:, :count]
    assert torch.equal(shortlist.best_places(scores, count), expected)
