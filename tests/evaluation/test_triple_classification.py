from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.evaluation.triple_classification import best_threshold, classify_triples
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.stand_ins import TableScorer

E = 6


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], 2.5),
        ([4, 1, 3, 2], [1, 0, 1, 0], 2.5),  # in any order
        ([1, 2, 3, 4], [0, 1, 0, 1], 1.5),  # 1.5 and 3.5 call three right: the lower one
        ([1, 2], [1, 1], -np.inf),
        ([1, 2], [0, 0], np.inf),
        ([1, 2, 2, 3], [0, 0, 1, 1], 1.5),  # equal scores are never parted
    ],
)
def test_the_threshold_that_calls_most_right(scores, labels, expected):
    assert best_threshold(np.array(scores, float), np.array(labels, bool)) == expected


@pytest.fixture
def kg():
    """Two relations; only the first has validation triples."""
    return KnowledgeGraph.from_arrays(
        [[0, 0, 1], [2, 1, 3]],
        [[0, 0, 2], [1, 0, 2]],
        [[0, 0, 3], [1, 0, 3], [0, 1, 4]],
        entities=E,
        relations=2,
    )


@pytest.fixture
def scorer():
    """Both queries of a triple score the same, but for (0, 0, 3): 2 and 4, a mean of 3."""
    table = torch.zeros(4, E, E)
    marks = {(0, 0, 2): 4, (1, 0, 2): 6, (0, 0, 3): 2, (1, 0, 3): 9, (0, 1, 4): 1}
    marks |= {(4, 0, 2): 1, (5, 0, 2): 5, (4, 0, 3): 5, (3, 1, 4): 3}
    for (h, r, t), score in marks.items():
        table[r, h, t] = table[r + 2, t, h] = score
    table[2, 3, 0] = 4
    return TableScorer(table)


def test_by_hand(kg, scorer):
    """Validation: true 4 and 6, false 1 and 5: from 2.5 up, three of four right.

    Test: true 3 and 9, false 5 of the first relation; true 1, false 3 of the second, which has the
    threshold of all. Right are 3, 9; wrong are 5, 1 and 3.
    """
    valid_false = torch.tensor([[4, 0, 2], [5, 0, 2]])
    false = torch.tensor([[4, 0, 3], [3, 1, 4]])
    found = classify_triples(scorer, kg, "test", false, valid_false)
    assert found == {
        "accuracy": 2 / 5,
        # true 9, 3, 1 against false 5, 3: 2 + 0.5 + 0 of six pairs
        "roc_auc": pytest.approx(2.5 / 6),
        # at 9 one of one, at 3 (with a false one) two of four, at 1 three of five
        "average_precision": pytest.approx((1 + 2 / 4 + 3 / 5) / 3),
        "true": 3,
        "false": 2,
        "thresholds": {"all": 2.5, "relations": {"0": 2.5}},
    }


def test_false_validation_triples_are_drawn_where_none_are_given(kg, scorer, monkeypatch):
    """One a triple, the tail of the first and the head of the second replaced, none known."""
    module = "dglkgmix.evaluation.triple_classification"
    seen = []
    original = classify_triples.__globals__["_scored"]
    monkeypatch.setattr(f"{module}._scored", lambda *a: seen.append(a[3]) or original(*a))
    classify_triples(scorer, kg, "test", torch.tensor([[4, 0, 3]]))
    (head, relation, tail), second = seen[0].tolist()
    assert (head, relation) == (0, 0)
    assert tail not in (1, 2)
    assert second[1:] == [0, 2]
    assert second[0] not in (0, 1)


def test_without_validation_there_are_no_thresholds(scorer):
    kg = KnowledgeGraph.from_arrays([[0, 0, 1]], test=[[0, 0, 3]], entities=E, relations=2)
    assert classify_triples(scorer, kg, "test", torch.tensor([[4, 0, 3]])) is None
