from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

from dglkgmix.evaluation import list_probability
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import (
    FEATURES,
    FEWEST,
    FOLDS,
    ListProbability,
    cross_fitted,
    features,
    fit_list_probability,
    fit_on_validation,
    repeat_shares,
)
from dglkgmix.evaluation.shortlist import Shortlists
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation import plain
from tests.evaluation.stand_ins import TableScorer


def one_list(scores, degrees, relation=0, known=0, shared=None):
    return Shortlists(
        relations=np.array([relation]),
        known=np.array([known]),
        entities=np.arange(len(scores))[None],
        scores=np.array([scores], dtype=np.float64),
        degrees=np.array([degrees]),
        shared=np.zeros((1, len(scores), 2)) if shared is None else np.array([shared]),
    )


def drawn(queries=600, places=6, relations=3, seed=0):
    """Lists whose answers are true with a known chance: 1 / (1 + exp(1 + place − relation))."""
    draw = np.random.default_rng(seed)
    relation = draw.integers(relations, size=queries)
    scores = -np.sort(-draw.normal(size=(queries, places)), axis=1)
    scores[draw.random(queries) < 0.2, -1] = -np.inf
    lists = Shortlists(
        relations=relation,
        known=draw.poisson(1, queries),
        entities=np.zeros((queries, places), dtype=np.int64),
        scores=scores,
        degrees=draw.poisson(1, (queries, places)),
        shared=draw.random((queries, places, 2)),
    )
    chance = 1 / (1 + np.exp(1 + np.arange(places) - relation[:, None]))
    return lists, (draw.random((queries, places)) < chance) & lists.filled


def test_features_of_a_list_by_hand():
    """Scores log 6, log 3, log 1 have shares 0.6, 0.3, 0.1; the fourth place is empty."""
    scores = [math.log(6), math.log(3), 0.0, -np.inf]
    shared = [[0.5, 0], [0, 1], [0, 0], [2, 2]]
    found = features(one_list(scores, [0, 1, 7, 0], known=3, shared=shared))[0]
    assert found.shape == (4, len(FEATURES))
    columns = dict(zip(FEATURES, found.T, strict=True))
    assert columns["score"] == pytest.approx([math.log(6), math.log(3), 0, 0])
    assert columns["share"] == pytest.approx([math.log(0.6), math.log(0.3), math.log(0.1), 0])
    assert columns["place"] == pytest.approx([0, math.log(2), math.log(3), 0])
    assert columns["gap"] == pytest.approx(
        [math.log(1 + math.log(2)), math.log(1 + math.log(3)), 0, 0]
    )
    assert columns["degree"] == pytest.approx([0, math.log(2), math.log(8), 0])
    assert columns["zero"].tolist() == [1, 0, 0, 0]
    assert columns["known"] == pytest.approx([math.log(4)] * 3 + [0])
    assert columns["answers"] == pytest.approx([math.log(1.5), 0, 0, 0])
    assert columns["heads"] == pytest.approx([0, math.log(2), 0, 0])


def test_probabilities_may_rise_down_a_list():
    """What known answers say can outweigh the score."""
    weights = dict.fromkeys(FEATURES, 0.0) | {"answers": 1.0}
    lists = one_list([2.0, 1.0, -np.inf], [0, 1, 0], shared=[[0, 0], [1, 0], [0, 0]])
    found = ListProbability(0.0, tuple(weights.values()), {}).of(lists)[0]
    assert found[:2] == pytest.approx([1 / 2, 2 / 3])  # σ(log 2) is 2/3
    assert np.isnan(found[2])


def test_a_list_without_candidates_has_no_probabilities():
    empty = one_list([-np.inf, -np.inf], [0, 0])
    fitted = ListProbability(0.0, (1.0,) * len(FEATURES), {})
    assert np.isnan(fitted.of(empty)).all()
    assert fitted.of(empty.rows(slice(0))).shape == (0, 2)


def test_the_log_odds_are_added_up():
    """Relation 2 adds 0.5, and 0.25 more to a degree of 0; relation 9 was never seen."""
    weights = dict.fromkeys(FEATURES, 0.0) | {"score": 2.0}
    fitted = ListProbability(-1.0, tuple(weights.values()), {2: (0.5, 0.25)})
    known = fitted.of(one_list([1.0, 0.0], [0, 3], relation=2))[0]
    assert known == pytest.approx([plain.sigmoid(-1 + 2 + 0.75), plain.sigmoid(-1 + 0.5)])
    other = fitted.of(one_list([1.0, 0.0], [0, 3], relation=9))[0]
    assert other == pytest.approx([plain.sigmoid(1.0), plain.sigmoid(-1.0)])


def test_no_step_makes_the_data_and_the_prior_likelier():
    """The derivative of −log likelihood + ½ |standardised weights and offsets|² is 0."""
    lists, true = drawn()
    fitted = fit_list_probability(lists, true)
    filled = lists.filled
    x = features(lists)[filled]
    spread = x.std(0)
    one_hot = np.eye(3)[np.broadcast_to(lists.relations[:, None], filled.shape)[filled]]
    of_zero = one_hot * (lists.degrees[filled] == 0)[:, None]
    columns = np.hstack([(x - x.mean(0)) / spread, one_hot, of_zero])
    added = np.array([fitted.relations[i] for i in range(3)])
    weights = np.concatenate([np.array(fitted.weights) * spread, *added.T])
    excess = fitted.of(lists)[filled] - true[filled]
    assert excess.sum() == pytest.approx(0, abs=1e-3)  # the intercept, which no prior holds
    assert excess @ columns + weights == pytest.approx(np.zeros(len(weights)), abs=1e-3)
    assert np.abs(weights).min() > 1e-3


def test_as_many_true_answers_are_expected_as_there_are():
    lists, true = drawn()
    found = fit_list_probability(lists, true).of(lists)[lists.filled]
    assert found.sum() == pytest.approx(true.sum(), rel=1e-4)


def test_it_survives_json():
    fitted = fit_list_probability(*drawn())
    assert ListProbability.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST])
@pytest.mark.parametrize("flip", [False, True])
def test_too_few_true_or_false_answers_give_no_fit(count, flip):
    lists, true = drawn(queries=100)
    lists = lists.rows(lists.filled.all(1))
    true = np.zeros((len(lists.relations), 6), dtype=bool)
    true.flat[:count] = True
    fitted = fit_list_probability(lists, ~true if flip else true)
    assert (fitted is None) == (count < FEWEST)


def test_many_lists_are_thinned(monkeypatch):
    """300 of 600: the first and the last, and what lies evenly between."""
    lists, true = drawn()
    monkeypatch.setattr(list_probability, "MOST", 300)
    chosen = np.linspace(0, 599, 300).astype(int)
    assert fit_list_probability(lists, true) == fit_list_probability(
        lists.rows(chosen), true[chosen]
    )


def test_cross_fitting_knows_nothing_of_a_lists_own_fold():
    lists, true = drawn()
    found = cross_fitted(lists, true)
    rest = np.arange(600) % FOLDS != 1
    expected = fit_list_probability(lists.rows(rest), true[rest]).of(lists.rows(~rest))
    assert found[~rest] == pytest.approx(expected, nan_ok=True)
    true[~rest] = ~true[~rest] & lists.filled[~rest]
    assert cross_fitted(lists, true)[~rest] == pytest.approx(expected, nan_ok=True)


def test_cross_fitting_with_too_little_in_a_fold():
    lists, true = drawn()
    true[:] = False
    true.flat[: FEWEST + 3] = lists.filled.flat[: FEWEST + 3]
    assert cross_fitted(lists, true) is None


def test_the_test_split_has_no_part_in_it(toy, monkeypatch):
    monkeypatch.setattr(list_probability, "FEWEST", 1)
    table = torch.randn(6, 5, 5, generator=torch.Generator().manual_seed(0))
    names = {"entities": toy.entities, "relations": toy.relations}
    other = KnowledgeGraph.from_arrays(toy.train, toy.valid, toy.test.flip(0)[:1], **names)
    fitted = fit_on_validation(TableScorer(table), toy)
    assert fitted is not None
    assert fitted == fit_on_validation(TableScorer(table), other)
    unvalidated = KnowledgeGraph.from_arrays(toy.train, None, toy.test, **names)
    assert fit_on_validation(TableScorer(table), unvalidated) is None


def test_entities_off_the_list_have_none(toy, monkeypatch):
    """(b, likes): train has c and valid a, so a and c are no candidates; two places of three."""
    monkeypatch.setattr("dglkgmix.evaluation.shortlist.DEPTH", 2)
    scores = torch.zeros(1, 5)
    wanted = {"a": 9.0, "c": 8.0, "d": 2.0, "lone": 1.0, "b": 0.0}
    for name, score in wanted.items():
        scores[0, toy.entities.id(name)] = score
    fitted = ListProbability(0.0, (1.0, *(0.0,) * (len(FEATURES) - 1)), {})
    head, relation = torch.tensor([toy.entities.id("b")]), torch.tensor([toy.relations.id("likes")])
    found = fitted.of_entities(toy, head, relation, scores, candidates=Candidates.of(toy))[0]
    by_name = {name: found[toy.entities.id(name)] for name in wanted}
    assert by_name["d"] == pytest.approx(plain.sigmoid(2.0))
    assert by_name["lone"] == pytest.approx(plain.sigmoid(1.0))
    assert np.isnan([by_name["a"], by_name["c"], by_name["b"]]).all()


def functional_graph(again=()):
    """30 towns lie in one country each (functional); validation has more countries for some."""
    rows = [(town, 0, 30 + town % 3) for town in range(30)]
    return KnowledgeGraph.from_arrays(rows, [*again, (5, 0, 35 - 3)], entities=33, relations=1)


@pytest.mark.parametrize(
    ("again", "count"),
    [
        ((), 0),  # (5, 0, 32) is a training fact: no other one
        (((0, 0, 31), (1, 0, 30), (1, 0, 32)), 2),  # two queries with another
    ],
)
def test_how_often_a_query_has_another_answer(again, count):
    """Of 30 queries for tails; and of three for heads, of which validation has more for all but one
    of those that it names. Each relation is the only one of its kind: pooled with itself.
    """
    kg = functional_graph(again)
    found = repeat_shares(kg, torch.tensor([True, False]))
    heads = len({tail for _, _, tail in again})
    expected = [
        (hits + 20 * (hits + 0.5) / (queries + 1)) / (queries + 20)
        for hits, queries in ((count, 30), (heads, 3))
    ]
    assert [found[0], found[1]] == pytest.approx(expected)


def test_a_query_with_its_one_answer_takes_that_share_of_its_probability():
    kg = functional_graph()
    weights = (0.0,) * len(FEATURES)
    fitted = ListProbability(0.0, weights, {}, {0: 0.02, 1: 0.5}, one_tail=(0,))
    heads, scores = torch.tensor([0, 31]), torch.zeros(2, 33)
    relations = torch.zeros(2, dtype=torch.long)
    found = fitted.of_entities(kg, heads, relations, scores, candidates=Candidates.of(kg))
    assert np.nanmax(found, axis=1) == pytest.approx([0.5 * 0.02, 0.5])
    assert [fitted.another(relation) for relation in (0, 1, 2)] == [None, 0.5, None]
    assert ListProbability.from_dict(fitted.to_dict()) == fitted


def test_a_fit_knows_relations_of_one_tail(monkeypatch):
    """A town lies in one country."""
    monkeypatch.setattr(list_probability, "FEWEST", 1)
    kg = functional_graph([(0, 0, 31)])
    fitted = fit_on_validation(TableScorer(torch.zeros(2, 33, 33)), kg)
    assert fitted.one_tail == (0,)
    assert fitted.repeats == repeat_shares(kg, torch.tensor([True, False]))
