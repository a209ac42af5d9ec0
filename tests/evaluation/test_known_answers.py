from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from dglkgmix.evaluation.grouping import Pairs
from dglkgmix.evaluation.known_answers import KnownAnswers, _insertion
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.kg.index import TripleIndex

# (0, 0) has tails 1, 2, 4; (1, 0) has tail 0; (2, 0) has none.
KNOWN = TripleIndex.build(torch.tensor([[0, 0, 4], [0, 0, 1], [0, 0, 2], [1, 0, 0]]), 5, 1)
SCORES = torch.tensor([[0.0, 1, 2, 3, 4], [5, 5, 5, 5, 5], [0, 0, 0, 0, 0]])


def count():
    heads = torch.tensor([0, 0, 1, 2])
    answers = torch.tensor([2, 3, 1, 0])
    zero = torch.zeros(4, dtype=torch.long)
    pairs = Pairs.group(EvalQueries(heads, zero, answers, zero, torch.arange(4)))
    assert pairs.queries.tolist() == [0, 1, 2, 3]
    known = KnownAnswers(KNOWN, pairs)
    return [column.tolist() for column in known.count(SCORES, 0, torch.tensor([2.0, 3, 5, 0]))]


def test_known_answers_are_compared_with_each_answer_of_their_query():
    above, at_least = count()
    assert above == [1, 1, 0, 0]  # 4 scores above 2 and above 3
    assert at_least == [2, 1, 1, 0]  # 2 itself is known and ties with itself


def test_a_slice_of_the_entities_holds_its_own_known_answers():
    heads, zero = torch.tensor([0]), torch.zeros(1, dtype=torch.long)
    answers = torch.tensor([3])
    pairs = Pairs.group(EvalQueries(heads, zero, answers, zero, zero))
    known = KnownAnswers(KNOWN, pairs)
    found = known.count(SCORES[:1, 2:4], 2, torch.tensor([1.5]))
    assert [column.tolist() for column in found] == [[1], [1]]  # entity 2 alone


RUNS = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=9), st.integers(-1, 6)), min_size=1, max_size=6
)


@given(runs=RUNS)
def test_places_are_those_of_a_search_in_each_run(runs):
    values, low, high, bars = [], [], [], []
    for run, bar in runs:
        low.append(len(values))
        values += sorted(run)
        high.append(len(values))
        bars.append(bar)
    columns = [torch.tensor(column) for column in (values, low, high, bars)]
    for right in (False, True):
        found = _insertion(*columns, right=right)
        for place, first, (run, bar) in zip(found.tolist(), low, runs, strict=True):
            assert place - first == sum(v <= bar if right else v < bar for v in run)
