from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dglkgmix.errors import ConfigError, NumericError, UnknownNameError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import FEATURES, ListProbability
from dglkgmix.evaluation.platt import sigmoid
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction.answers import Predictor, Query
from tests.evaluation.stand_ins import TableScorer
from tests.graphs import typed
from tests.prediction.conftest import HALF


@pytest.fixture
def scorer(toy):
    """(likes, a): 0 1 2 3 4 over the entities; everything else 0."""
    table = torch.zeros(6, 5, 5)
    table[toy.relations.id("likes"), toy.entities.id("a")] = torch.arange(5.0)
    return TableScorer(table)


def names(prediction):
    return [answer.name for answer in prediction.answers]


def test_tails_best_first_with_all_there_is_to_know(toy, scorer):
    found = Predictor(toy, scorer, HALF).predict(Query("a", "likes"), top=3)
    assert names(found) == ["lone", "d", "c"]
    third = found.answers[2]
    assert (third.score, third.degree, third.bin) == (2.0, 2, "low")
    chances = [answer.probability for answer in found.answers]
    assert chances[:2] == pytest.approx(sigmoid([0.5 * 4 - 1, 0.5 * 3 - 1]))
    assert third.known  # (a, likes, c) is a training triple
    assert third.probability is None
    assert not found.answers[0].known
    assert [answer.trained for answer in found.answers] == [False, True, True]
    assert found.warnings == []


def test_known_answers_of_every_split_are_hidden_on_request(toy, scorer):
    found = Predictor(toy, scorer).predict(Query("a", "likes"), new_only=True)
    assert names(found) == ["lone", "d", "a"]
    scores = [answer.probability for answer in found.answers]
    assert scores == [None] * 3
    # of (d, likes, c) alone test knows, of (b, likes, a) alone valid
    assert "c" not in names(Predictor(toy, scorer).predict(Query("d", "likes"), new_only=True))
    assert "a" not in names(Predictor(toy, scorer).predict(Query("b", "likes"), new_only=True))


def test_a_fact_of_the_test_split_alone_is_a_candidate(toy, scorer):
    """(d, likes, c): to a model it is as new as any other."""
    scorer.table[toy.relations.id("likes"), toy.entities.id("d"), toy.entities.id("c")] = 2
    best = Predictor(toy, scorer, HALF).predict(Query("d", "likes"), top=1).answers[0]
    assert (best.name, best.known, best.probability) == ("c", True, 0.5)


def test_relations_have_no_probability(toy, scorer):
    found = Predictor(toy, scorer, HALF).predict(Query(head="a", tail="d"))
    assert [answer.probability for answer in found.answers] == [None] * 3


def test_heads_are_asked_for_through_the_reciprocal_relation(toy, scorer):
    scorer.table[toy.relations.id("likes") + 3, toy.entities.id("c")] = torch.tensor(
        [0.0, 3, 1, 2, -1]
    )
    found = Predictor(toy, scorer).predict(Query(relation="likes", tail="c"))
    assert names(found) == ["b", "d", "c", "a", "lone"]
    # b and a like c in training, d in test; each of them likes c once
    assert [answer.known for answer in found.answers] == [True, True, False, True, False]
    likes = {answer.name: answer.degree for answer in found.answers}
    assert likes == {"b": 1, "d": 0, "c": 0, "a": 2, "lone": 0}


def test_relations_of_a_pair(toy, scorer):
    scorer.table[toy.relations.id("knows"), toy.entities.id("a"), toy.entities.id("d")] = 7
    found = Predictor(toy, scorer).predict(Query(head="a", tail="d"))
    assert names(found) == ["knows", "likes", "only_valid"]
    assert [answer.score for answer in found.answers] == [7, 3, 0]
    assert [answer.known for answer in found.answers] == [False, False, True]
    assert [answer.degree for answer in found.answers] == [0, 0, 0]
    assert [answer.trained for answer in found.answers] == [True, True, False]
    new = Predictor(toy, scorer).predict(Query(head="a", tail="d"), new_only=True)
    assert names(new) == ["knows", "likes"]


def test_equal_scores_come_in_the_vocabulary_s_order(toy, scorer):
    found = Predictor(toy, scorer).predict(Query("b", "likes"), top=3)
    assert names(found) == ["a", "b", "c"]


def test_one_answer_is_enough(toy, scorer):
    """Case 12."""
    assert names(Predictor(toy, scorer).predict(Query("a", "likes"), top=1)) == ["lone"]


def test_an_untrained_name_works_with_a_warning(toy, scorer):
    """Case 24, first half."""
    found = Predictor(toy, scorer).predict(Query("lone", "only_valid"))
    assert len(found.answers) == 5
    assert [w.split(" is ")[0] for w in found.warnings] == [
        "entity 'lone'",
        "relation 'only_valid'",
    ]
    assert "untrained" in found.warnings[0]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query("lonne", "likes"), "entity 'lonne'.*'lone'"),
        (Query("a", "like"), "relation 'like'.*'likes'"),
        (Query(head="a", tail="looone"), "entity 'looone'.*'lone'"),
    ],
)
def test_a_misspelt_name_is_told_its_neighbours(toy, scorer, query, message):
    """Case 24, second half; the error is a ValueError."""
    with pytest.raises(UnknownNameError, match=message) as error:
        Predictor(toy, scorer).predict(query)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("given", [(), ("a",), ("a", "likes", "c")])
def test_a_query_gives_two_of_three(given):
    with pytest.raises(ConfigError, match="two of head, relation and tail"):
        Query(*given)


def test_no_answers_cannot_be_asked_for(toy, scorer):
    with pytest.raises(ConfigError, match="top"):
        Predictor(toy, scorer).predict(Query("a", "likes"), top=0)


def test_scores_that_are_not_finite_are_no_answers(toy, scorer):
    scorer.table[:] = float("nan")
    with pytest.raises(NumericError, match=r"'a'.*'likes'"):
        Predictor(toy, scorer).predict(Query("a", "likes"))


def test_other_bins(toy, scorer):
    found = Predictor(toy, scorer, bins=DegreeBins((2,))).predict(Query("a", "likes"))
    assert {answer.name: answer.bin for answer in found.answers} == {
        "lone": "[0,2)",
        "d": "[0,2)",
        "c": "[2,inf)",
        "b": "[0,2)",
        "a": "[0,2)",
    }


def test_only_types_that_the_relation_leads_to(toy, scorer):
    kg = typed(toy, [0, 1, 1, 0, 1], ("x", "y"))  # likes leads to b and c, of type 1
    assert names(Predictor(kg, scorer).predict(Query("a", "likes"))) == ["lone", "c", "b"]
    # a relation that training lacks leads anywhere
    assert len(Predictor(kg, scorer).predict(Query("a", "only_valid")).answers) == 5


def test_a_functional_query_with_a_known_answer_is_marked(toy, scorer):
    """30 towns lie in one country each, so that each town has one tail, and a country ten heads."""
    rows = [(f"town {i}", "lies in", f"country {i % 3}") for i in range(30)]
    kg = KnowledgeGraph.from_names(rows, [], [("country 0", "lies in", "country 1")])
    predictor = Predictor(kg, TableScorer(torch.zeros(2, 33, 33)))
    known = predictor.predict(Query("town 1", "lies in"))
    assert known.functional
    assert ["'lies in' is functional here" in warning for warning in known.warnings] == [True]
    assert known.to_dict()["functional"] is True
    assert predictor.predict(Query("country 1", "lies in")).warnings == []
    head = predictor.predict(Query(relation="lies in", tail="country 1"))
    assert (head.functional, head.warnings) == (False, [])
    assert not predictor.predict(Query(head="town 1", tail="country 1")).functional


def test_candidates_alone_answer(toy, scorer):
    """Training leads from likes to b and c; a relation asked for is any."""
    predictor = Predictor(toy, scorer, candidates=Candidates.of(toy, "observed"))
    assert names(predictor.predict(Query("a", "likes"))) == ["c", "b"]
    assert len(predictor.predict(Query(head="a", tail="d")).answers) == 3


def test_the_order_of_probabilities(toy, scorer):
    """They fall with the score here; c and b are known and have none."""
    falling = ListProbability(-1.0, tuple(-0.5 * (name == "score") for name in FEATURES), {})
    predictor, query = Predictor(toy, scorer, falling), Query("a", "likes")
    found = predictor.predict(query, sort="probability")
    assert names(found) == ["a", "d", "lone", "c", "b"]
    chances = [answer.probability for answer in found.answers]
    assert chances[:3] == pytest.approx(sigmoid([-1, -2.5, -3]))
    assert chances[3:] == [None, None]
    assert names(predictor.predict(query, top=2, sort="probability")) == ["a", "d"]
    assert names(predictor.predict(query, new_only=True, sort="probability")) == ["a", "d", "lone"]
    level = replace(HALF, weights=tuple(0.0 for _ in FEATURES))
    found = Predictor(toy, scorer, level).predict(query, top=4, sort="probability")
    assert names(found) == ["lone", "d", "a", "c"]


@pytest.mark.parametrize(("listed", "query"), [(None, ("a", "likes")), (HALF, ("a", None, "b"))])
def test_no_order_without_probabilities(toy, scorer, listed, query):
    with pytest.raises(ConfigError, match=r"no probabilities here.*sort by score"):
        Predictor(toy, scorer, listed).predict(Query(*query), sort="probability")


def test_the_share_of_queries_with_another_answer(toy, scorer):
    """(a, likes) has two answers in training, (lone, likes) none."""
    likes = toy.relations.id("likes")
    listed = replace(HALF, repeats={likes: 0.25})
    found = Predictor(toy, scorer, listed).predict(Query("a", "likes"))
    assert found.another == found.to_dict()["another"] == 0.25
    assert Predictor(toy, scorer, listed).predict(Query("lone", "likes")).another is None
    assert Predictor(toy, scorer).predict(Query("a", "likes")).another is None
    counted = replace(listed, one_tail=(likes,))
    assert Predictor(toy, scorer, counted).predict(Query("a", "likes")).another is None
