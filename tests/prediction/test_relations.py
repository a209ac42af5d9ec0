from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.errors import ConfigError, NumericError, OutOfRangeError
from dglkgmix.evaluation import shortlist
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import FEATURES, ListProbability
from dglkgmix.evaluation.platt import sigmoid
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction import relations
from dglkgmix.prediction.answers import Predictor
from dglkgmix.prediction.facts import NEW_COLUMNS
from dglkgmix.prediction.relations import new_facts
from tests.evaluation.stand_ins import TableScorer
from tests.graphs import typed

E, R, DEPTH = 30, 2, 3
# Log odds of the score less 1: it falls down a list.
LISTED = ListProbability(-1.0, tuple(float(name == "score") for name in FEATURES), {})


@pytest.fixture
def kg():
    draw = torch.Generator().manual_seed(1)
    rows = torch.stack([torch.randint(n, (60,), generator=draw) for n in (12, R, E)], 1)
    return KnowledgeGraph.from_arrays(rows[:50], rows[50:55], rows[55:], entities=E, relations=R)


@pytest.fixture(params=["spread", "ties"])
def scorer(request):
    draw = torch.Generator().manual_seed(2)
    scores = 3 * torch.randn(2 * R, E, E, generator=draw)
    return TableScorer(scores if request.param == "spread" else scores.round())


def brute_force(kg, scorer, relation):
    """(head, tail) → mean of what ``LISTED`` gives, of all pairs on lists, one after the other."""
    kept = {(h, t) for s in (kg.train, kg.valid) for h, r, t in s.tolist() if r == relation}
    test = {(h, t) for h, r, t in kg.test.tolist() if r == relation}
    trained = [(h, t) for h, r, t in kg.train.tolist() if r == relation]
    chances, candidates = {}, set()
    for side, asked in enumerate(({h for h, _ in trained}, {t for _, t in trained})):
        for end in range(E):
            row = scorer.table[relation + R * side, end].double().tolist()
            pairs = {o: (o, end) if side else (end, o) for o in range(E)}
            left = [o for o in range(E) if pairs[o] not in kept]
            for o in sorted(left, key=lambda o: (-row[o], o))[:DEPTH]:
                chances[side, pairs[o]] = sigmoid(row[o] - 1)
                if end in asked:
                    candidates.add(pairs[o])
    means = {p: sum(chances.get((side, p), 0) for side in (0, 1)) / 2 for p in candidates}
    return {pair: mean for pair, mean in means.items() if pair not in test}


@pytest.fixture(params=[1, 10_000])
def small(request, monkeypatch):
    """Lists of three; few scores at once, or all; few missing facts looked up at once, or all."""
    monkeypatch.setattr(relations, "DEPTH", DEPTH)
    monkeypatch.setattr(shortlist, "DEPTH", DEPTH)
    monkeypatch.setattr(relations, "_BATCH", request.param)
    monkeypatch.setattr(shortlist, "BLOCK", request.param * E)
    monkeypatch.setattr(relations, "_COMPARED", request.param)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("relation", range(R))
@pytest.mark.parametrize("top", [1, 7, 1000])
def test_the_facts_of_brute_force(kg, scorer, relation, top):
    found = new_facts(kg, scorer, relation, top, LISTED)
    expected = brute_force(kg, scorer, relation)
    order = sorted(expected, key=lambda pair: (-round(expected[pair], 9), pair))[:top]
    assert [(h, t) for h, _, t in found.triples.tolist()] == order
    assert set(found.triples[:, 1].tolist()) == {relation}
    assert found.plausibility == pytest.approx([expected[pair] for pair in order])
    assert found.places.tolist() == list(range(1, len(order) + 1))


@pytest.mark.usefixtures("small")
def test_the_best_of_each_bin(kg, scorer):
    bins = DegreeBins()
    found = new_facts(kg, scorer, 0, 2, LISTED, by_bin=bins)
    expected, edges = brute_force(kg, scorer, 0), kg.train.unique(dim=0).tolist()
    degree = {t: sum(r == 0 and end == t for _, r, end in edges) for t in range(E)}
    wanted = []
    for is_in in (lambda d: d == 0, lambda d: 1 <= d < 10):
        part = [pair for pair in expected if is_in(degree[pair[1]])]
        wanted += sorted(part, key=lambda pair: (-round(expected[pair], 9), pair))[:2]
    assert [(h, t) for h, _, t in found.triples.tolist()] == wanted
    assert found.places.tolist() == [1, 2, 1, 2]


def test_no_query_is_asked_that_cannot_matter(kg, monkeypatch):
    """A sure fact between two entities that training has seen: no other end is asked."""
    monkeypatch.setattr(relations, "DEPTH", DEPTH)
    monkeypatch.setattr(shortlist, "DEPTH", DEPTH)
    table = torch.zeros(2 * R, E, E)
    head = kg.train[kg.train[:, 1] == 0][0, 0].item()
    new = next(
        t
        for t in kg.train[kg.train[:, 1] == 0][:, 2].tolist()
        if not bool(kg.known_index.contains(head, 0, t))
    )
    table[0, head, new] = table[R, new, head] = 20
    asked, scorer = [], TableScorer(table)
    monkeypatch.setattr(scorer, "query", lambda h, r: asked.extend(h.tolist()) or table[r, h])
    found = new_facts(kg, scorer, 0, 1, LISTED)
    assert found.triples.tolist() == [[head, 0, new]]
    rows = kg.train[kg.train[:, 1] == 0]
    assert sorted(asked) == sorted(rows[:, 0].unique().tolist() + rows[:, 2].unique().tolist())


def test_without_a_fit_shares_of_lists_order_facts():
    """(0, 1) is known: of the query of 0 two tails are left, with scores 1 and 2."""
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]], entities=3, relations=1)
    table = torch.zeros(2, 3, 3)
    table[0, 0] = torch.tensor([1.0, 0, 2])
    table[1, 1] = torch.tensor([0.0, 0, 0])
    found = new_facts(kg, TableScorer(table), 0, 1)
    share = np.exp(2) / (np.exp(2) + np.exp(1))
    # asked for from its tail 2, of which nothing is known, three heads score the same
    expected = (share / (1 + share) + (1 / 3) / (1 + 1 / 3)) / 2
    assert found.triples.tolist() == [[0, 0, 2]]
    assert found.plausibility == pytest.approx([expected])


def test_entities_of_other_node_types_are_no_candidates():
    """Three authors, two papers: writes leads from the first to the second."""
    kg = KnowledgeGraph.from_arrays([[0, 0, 3], [1, 0, 4]], entities=5, relations=1)
    kg = typed(kg, [0, 0, 0, 1, 1], ["author", "paper"])
    found = new_facts(kg, TableScorer(torch.zeros(2, 5, 5)), 0, 100)
    assert [(h, t) for h, _, t in found.triples.tolist()] == [(0, 4), (1, 3), (2, 3), (2, 4)]


def test_candidates_bound_both_ends(kg, scorer):
    """Among those observed, both ends must be seen in their place."""
    found = new_facts(kg, scorer, 0, 1000, candidates=Candidates.of(kg, "observed"))
    trained = kg.train[kg.train[:, 1] == 0]
    assert len(found.triples) > 50
    for column in (0, 2):
        assert set(found.triples[:, column].tolist()) <= set(trained[:, column].tolist())
    assert len(new_facts(kg, scorer, 0, 1000).triples) > len(found.triples)


def test_a_relation_without_training_triples_has_none():
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]], entities=2, relations=2)
    found = new_facts(kg, TableScorer(torch.zeros(4, 2, 2)), 1, 5)
    assert (len(found.triples), len(found.plausibility), len(found.places)) == (0, 0, 0)
    predictor = Predictor(kg, TableScorer(torch.zeros(4, 2, 2)))
    assert predictor.new_facts(1) == []
    for top in (0, -1):
        with pytest.raises(ConfigError, match=f"top must be at least 1, not {top}"):
            predictor.new_facts(1, top)
    with pytest.raises(OutOfRangeError, match="no relation with id 2"):
        predictor.new_facts(2)


def test_the_predictor_tells_all_there_is_of_each(kg, scorer):
    predictor = Predictor(kg, scorer)
    rows = predictor.new_facts("0", 3)
    found = new_facts(kg, scorer, 0, 3)
    assert [set(row) for row in rows] == [set(NEW_COLUMNS)] * 3
    assert [(row["head"], row["tail"]) for row in rows] == [
        (str(h), str(t)) for h, _, t in found.triples.tolist()
    ]
    (given,) = predictor.predict_triples([(rows[0]["head"], "0", rows[0]["tail"])])
    assert rows[0]["tail_rank"] == given.directions["tail"].rank
    assert [row["place"] for row in rows] == [1, 2, 3]


def test_scores_that_are_not_finite(kg):
    with pytest.raises(NumericError, match="not all finite"):
        new_facts(kg, TableScorer(torch.full((2 * R, E, E), torch.nan)), 0, 5)
