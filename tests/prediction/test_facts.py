from __future__ import annotations

import pytest
import torch

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.platt import sigmoid
from dglkgmix.prediction.answers import Predictor, Query
from dglkgmix.prediction.facts import COLUMNS, Side, fact_row
from tests.evaluation.stand_ins import TableScorer
from tests.prediction.conftest import HALF


@pytest.fixture
def predictor(toy):
    """(likes, a): 0 1 2 3 4 over the entities; (?, likes, c): 0 3 1 2 −1; everything else 0."""
    table, likes = torch.zeros(6, 5, 5), toy.relations.id("likes")
    table[likes, toy.entities.id("a")] = torch.arange(5.0)
    table[likes + 3, toy.entities.id("c")] = torch.tensor([0.0, 3, 1, 2, -1])
    return Predictor(toy, TableScorer(table), HALF)


def test_a_new_fact_from_both_ends(predictor):
    """(a, likes, d): above d only lone, and of the known b and c none; a is one of five ties."""
    (found,) = predictor.predict_triples([("a", "likes", "d")])
    assert (found.head, found.relation, found.tail, found.splits) == ("a", "likes", "d", [])
    assert found.directions["tail"] == Side(
        3.0, 2.0, 3, pytest.approx(sigmoid(0.5 * 3 - 1)), degree=0, bin="zero"
    )
    # (?, likes, d): every entity scores 0, nobody is known to like d, five share ranks 1 to 5
    head = found.directions["head"]
    assert (head.score, head.rank, head.candidates) == (0.0, 3.0, 5)
    assert head.degree == 2  # a likes b and c
    assert found.warnings == []


def test_a_known_fact_is_ranked_without_the_other_known_ones(predictor):
    """(d, likes, c) of the test split, asked for from c: b, known, scores more."""
    (found,) = predictor.predict_triples([("d", "likes", "c")])
    assert found.splits == ["test"]
    head = found.directions["head"]
    assert (head.score, head.rank, head.candidates) == (2.0, 1.0, 3)
    # to the model a fact of the test split is as new as any other
    assert head.probability == pytest.approx(sigmoid(0.5 * 2 - 1))


def test_a_fact_of_training_has_no_probability_and_says_where_it_is_from(predictor):
    (found,) = predictor.predict_triples([("a", "likes", "c")])
    assert found.splits == ["train"]
    assert [side.probability for side in found.directions.values()] == [None, None]
    assert found.directions["tail"].degree == 2


def test_an_answer_that_is_no_candidate_has_the_last_rank(toy, predictor):
    """(a, likes, d): nobody likes d in training; c and b, which a likes, are taken off."""
    observed = Candidates.of(toy, "observed")
    judged = Predictor(toy, predictor.scorer, HALF, candidates=observed)
    (found,) = judged.predict_triples([("a", "likes", "d")])
    tail = found.directions["tail"]
    assert (tail.rank, tail.candidates, tail.probability) == (3.0, 3, None)
    told = "'d' is no candidate for the tail of 'likes': as an answer it has the last rank"
    assert found.warnings == [told]


def test_untrained_names_are_warned_of_as_in_queries(predictor):
    (found,) = predictor.predict_triples([("lone", "only_valid", "lone")])
    asked = predictor.predict(Query("lone", "only_valid")).warnings
    assert sorted(found.warnings) == sorted(asked)
    assert len(asked) == 2


def test_without_a_fit_there_are_no_probabilities(toy, predictor):
    (found,) = Predictor(toy, predictor.scorer).predict_triples([("a", "likes", "d")])
    assert found.directions["tail"].probability is None


def test_a_row_has_both_queries_side_by_side(predictor):
    (found,) = predictor.predict_triples([("a", "likes", "d")])
    row = {"query": 1, **fact_row(found)}
    assert set(row) == set(COLUMNS)
    assert (row["tail_rank"], row["head_rank"], row["splits"]) == (2.0, 3.0, "")


@pytest.mark.parametrize(
    ("triple", "error", "message"),
    [
        (("a", "likes"), DataError, "triples, row 0: expected"),
        (("a", "like", "d"), UnknownNameError, "'like'.*'likes'"),
    ],
)
def test_what_is_no_fact_is_refused(predictor, triple, error, message):
    with pytest.raises(error, match=message):
        predictor.predict_triples([triple])


def test_no_facts_are_no_error(predictor):
    assert predictor.predict_triples([]) == []
