from __future__ import annotations

import pytest
import torch

from dglkgmix.evaluation import known_answers
from dglkgmix.evaluation.grouping import Pairs
from dglkgmix.evaluation.known_answers import KnownAnswers, SameType
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.kg.index import TripleIndex

# (0, 0) has tails 1, 2, 4; (1, 0) has tail 0; (2, 0) has none.
KNOWN = TripleIndex.build(torch.tensor([[0, 0, 4], [0, 0, 1], [0, 0, 2], [1, 0, 0]]), 5, 1)
SCORES = torch.tensor([[0.0, 1, 2, 3, 4], [5, 5, 5, 5, 5], [0, 0, 0, 0, 0]])


def count(pairs_at_once, types=None):
    heads = torch.tensor([0, 0, 1, 2])
    answers = torch.tensor([2, 3, 1, 0])
    zero = torch.zeros(4, dtype=torch.long)
    pairs = Pairs.group(EvalQueries(heads, zero, answers, zero, torch.arange(4)))
    assert pairs.queries.tolist() == [0, 1, 2, 3]
    target = torch.tensor([2.0, 3, 5, 0])
    matches = None if types is None else SameType(types, answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_answers, "PAIRS", pairs_at_once)
        found = KnownAnswers(KNOWN, pairs).count(SCORES, 0, target, matches)
    return [column.tolist() for column in found]


@pytest.mark.parametrize("pairs_at_once", [1, 3, 4, 100])
def test_known_answers_are_compared_with_each_answer_of_their_query(pairs_at_once):
    above, at_least, all_ = count(pairs_at_once)
    assert above == [1, 1, 0, 0]  # 4 scores above 2 and above 3
    assert at_least == [2, 1, 1, 0]  # 2 itself is known and ties with itself
    assert all_ == [3, 3, 1, 0]


def test_known_answers_of_another_type_do_not_count():
    types = torch.tensor([0, 0, 1, 0, 1])  # answers 2, 3, 1, 0 are of types 1, 0, 0, 0
    assert count(3, types) == [[1, 0, 0, 0], [2, 0, 1, 0], [2, 1, 1, 0]]


def test_a_slice_of_the_entities_holds_its_own_known_answers():
    heads, zero = torch.tensor([0]), torch.zeros(1, dtype=torch.long)
    pairs = Pairs.group(EvalQueries(heads, zero, torch.tensor([3]), zero, zero))
    known = KnownAnswers(KNOWN, pairs)
    found = known.count(SCORES[:1, 2:4], 2, torch.tensor([1.5]), None)
    assert [column.tolist() for column in found] == [[1], [1], [1]]  # entity 2 alone
