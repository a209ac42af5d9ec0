import pytest
import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction.answers import Predictor, Query
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.why import Explainer, Why
from tests.evaluation.stand_ins import TableScorer

ROWS = ["ann likes tea", "bob likes tea", "cid likes tea", "ann likes jam", "ann knows bob"]
ROWS += ["tea made of leaf", "ann likes ann", "dan likes tea", "eve likes tea"]


class Near:
    """Cosines with entity i are highest for the last of the vocabulary; neighbours are named."""

    def cosines(self, index):
        return torch.arange(9.0)

    def of(self, name, top, *, relation):
        return [f"{top} {'relations' if relation else 'entities'} near {name}"]


@pytest.fixture
def kg():
    """Entities in this order: ann tea bob cid jam leaf dan eve fay."""
    rows = [row.replace("made of", "made_of").split() for row in ROWS]
    return KnowledgeGraph.from_names(rows, [], [["fay", "likes", "tea"]])


def facts(*texts):
    return [Triple(*text.split()) for text in texts]


@pytest.mark.parametrize(
    ("fact", "asked", "expected"),
    [
        (
            Triple("bob", "likes", "tea"),
            "tail",
            Why(
                same_answer=facts("eve likes tea", "dan likes tea", "cid likes tea"),
                of_given=facts("ann knows bob"),
                given_degree=2,
                paths=[facts("ann knows bob", "ann likes tea")],
                nearest=["3 entities near tea"],
            ),
        ),
        # Backwards, to an answer that nobody likes.
        (
            Triple("leaf", "likes", "tea"),
            "head",
            Why(
                same_answer=[],
                of_given=facts("eve likes tea", "dan likes tea", "tea made_of leaf"),
                given_degree=6,
                paths=[facts("tea made_of leaf")],
                nearest=["3 entities near leaf"],
            ),
        ),
        # A fact of training is no evidence of itself, and a loop is one fact.
        (
            Triple("ann", "likes", "ann"),
            "relation",
            Why(
                same_answer=[],
                of_given=facts("ann likes jam", "ann knows bob", "ann likes tea"),
                given_degree=5,
                paths=[],
                nearest=["3 relations near likes"],
            ),
        ),
        (Triple("fay", "knows", "jam"), "tail", Why([], [], 0, [], ["3 entities near jam"])),
    ],
)
def test_facts_paths_and_neighbours(kg, fact, asked, expected):
    assert Explainer(kg, Near()).why(fact, asked) == expected


def test_a_loop_is_listed_once(kg):
    found = Explainer(kg, Near()).why(Triple("ann", "likes", "leaf"), "tail")
    assert found.of_given == facts("ann likes jam", "ann knows bob", "ann likes tea")
    last = Explainer(kg, Near())
    last.neighbours.cosines = lambda index: -torch.arange(9.0)
    found = last.why(Triple("ann", "likes", "leaf"), "tail")
    assert found.of_given == facts("ann likes ann", "ann likes tea", "ann knows bob")


def test_a_predictor_with_an_explainer_explains_every_answer(kg):
    scorer = TableScorer(torch.arange(9.0).expand(6, 9, 9).clone())
    plain = Predictor(kg, scorer).predict(Query("bob", "likes"), top=2)
    assert [answer.why for answer in plain.answers] == [None, None]
    explainer = Explainer(kg, Near())
    found = Predictor(kg, scorer, explainer=explainer).predict(Query("bob", "likes"), top=2)
    assert [(a.name, a.why) for a in found.answers] == [
        (name, explainer.why(Triple("bob", "likes", name), "tail")) for name in ("fay", "eve")
    ]
    first = found.to_dict()["answers"][0]["why"]
    assert first["of_given"][1] == {"head": "ann", "relation": "knows", "tail": "bob"}
