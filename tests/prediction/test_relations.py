from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.errors import NumericError
from dglkgmix.evaluation import rivals as rivals_module
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction import relations
from dglkgmix.prediction.answers import Predictor
from dglkgmix.prediction.facts import NEW_COLUMNS
from dglkgmix.prediction.relations import new_facts
from tests.evaluation.stand_ins import TableScorer

E, R, DEPTH = 30, 2, 3


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
    """(head, tail) → mean log share, of all pairs that are candidates, one after the other."""
    known = {
        (h, t) for s in (kg.train, kg.valid, kg.test) for h, r, t in s.tolist() if r == relation
    }
    trained = [(h, t) for h, r, t in kg.train.tolist() if r == relation]
    shares, listed = {}, set()
    for side, asked in enumerate(({h for h, _ in trained}, {t for _, t in trained})):
        for end in range(E):
            row = scorer.table[relation + R * side, end].double().tolist()
            pair = (lambda o, e=end: (e, o)) if side == 0 else (lambda o, e=end: (o, e))
            new = [o for o in range(E) if pair(o) not in known]
            total = sum(np.exp(row[o]) for o in new)
            for o in new:
                shares.setdefault(pair(o), []).append(row[o] - np.log(total))
            if end in asked:
                listed |= {pair(o) for o in sorted(new, key=lambda o: (-row[o], o))[:DEPTH]}
    return {pair: np.mean(shares[pair]) for pair in listed}


@pytest.fixture(params=[1, 10_000])
def small(request, monkeypatch):
    """Lists of three; few scores at once, or all; few missing shares looked up at once, or all."""
    monkeypatch.setattr(relations, "DEPTH", DEPTH)
    monkeypatch.setattr(relations, "_BATCH", request.param)
    monkeypatch.setattr(rivals_module, "BLOCK", request.param * E)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("relation", range(R))
@pytest.mark.parametrize("top", [1, 7, 1000])
def test_the_facts_of_brute_force(kg, scorer, relation, top):
    found = new_facts(kg, scorer, relation, top)
    expected = brute_force(kg, scorer, relation)
    order = sorted(expected, key=lambda pair: (-round(expected[pair], 9), pair))[:top]
    assert [(h, t) for h, _, t in found.triples.tolist()] == order
    assert set(found.triples[:, 1].tolist()) == {relation}
    assert np.log(found.shares) == pytest.approx([expected[pair] for pair in order])
    assert found.places.tolist() == list(range(1, len(order) + 1))


@pytest.mark.usefixtures("small")
def test_the_best_of_each_bin(kg, scorer):
    bins = DegreeBins()
    found = new_facts(kg, scorer, 0, 2, bins)
    expected, edges = brute_force(kg, scorer, 0), kg.train.unique(dim=0).tolist()
    degree = {t: sum(r == 0 and end == t for _, r, end in edges) for t in range(E)}
    wanted = []
    for is_in in (lambda d: d == 0, lambda d: 1 <= d < 10):
        part = [pair for pair in expected if is_in(degree[pair[1]])]
        wanted += sorted(part, key=lambda pair: (-round(expected[pair], 9), pair))[:2]
    assert [(h, t) for h, _, t in found.triples.tolist()] == wanted
    assert found.places.tolist() == [1, 2, 1, 2]


def test_few_shares_are_looked_up(kg, monkeypatch):
    """A clear winner between entities that training has seen: no other end is asked."""
    table = torch.zeros(2 * R, E, E)
    head = kg.train[kg.train[:, 1] == 0][0, 0].item()
    new = next(
        t
        for t in kg.train[kg.train[:, 1] == 0][:, 2].tolist()
        if not bool(kg.known_index.contains(head, 0, t))
    )
    table[0, head, new] = table[R, new, head] = 20
    asked = []
    monkeypatch.setattr(relations, "rivals", lambda *args: asked.append(args))
    found = new_facts(kg, TableScorer(table), 0, 1)
    assert found.triples.tolist() == [[head, 0, new]]
    assert asked == []


def test_entities_of_other_node_types_are_no_candidates():
    """Three authors, two papers: writes leads from the first to the second."""
    kg = KnowledgeGraph.from_arrays([[0, 0, 3], [1, 0, 4]], entities=5, relations=1)
    kg = KnowledgeGraph(
        kg.entities,
        kg.relations,
        kg.train,
        node_types=torch.tensor([0, 0, 0, 1, 1]),
        node_type_names=["author", "paper"],
    )
    found = new_facts(kg, TableScorer(torch.zeros(2, 5, 5)), 0, 100)
    assert [(h, t) for h, _, t in found.triples.tolist()] == [(0, 4), (1, 3), (2, 3), (2, 4)]


def test_a_relation_without_training_triples_has_none():
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]], entities=2, relations=2)
    found = new_facts(kg, TableScorer(torch.zeros(4, 2, 2)), 1, 5)
    assert (len(found.triples), len(found.shares), len(found.places)) == (0, 0, 0)
    assert Predictor(kg, TableScorer(torch.zeros(4, 2, 2))).new_facts(1) == []


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
