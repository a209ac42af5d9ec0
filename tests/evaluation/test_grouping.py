from __future__ import annotations

import torch

from dglkgmix.evaluation.grouping import Pairs
from dglkgmix.evaluation.queries import EvalQueries


def queries():
    heads = torch.tensor([5, 1, 5, 5, 2, 1])
    relations = torch.tensor([0, 3, 0, 1, 3, 3])
    return EvalQueries(heads, relations, torch.arange(6), torch.zeros(6), torch.arange(6))


def test_pairs_with_most_answers_come_first_and_keep_their_queries():
    pairs = Pairs.group(queries())
    assert list(zip(pairs.heads.tolist(), pairs.relations.tolist(), strict=True)) == [
        (5, 0),
        (1, 3),
        (5, 1),
        (2, 3),
    ]
    assert pairs.queries.tolist() == [0, 2, 1, 5, 3, 4]
    assert pairs.rows.tolist() == [0, 0, 1, 1, 2, 3]


def test_rounds_ask_for_one_answer_of_each_pair():
    assert [asked.tolist() for asked in Pairs.group(queries()).rounds()] == [[0, 1, 3, 4], [2, 5]]


def test_blocks_hold_every_query_once():
    blocks = list(Pairs.group(queries()).blocks(3))
    assert [len(block) for block in blocks] == [3, 1]
    assert [block.queries.tolist() for block in blocks] == [[0, 2, 1, 5, 3], [4]]
    assert [asked.tolist() for asked in blocks[1].rounds()] == [[4]]


def test_no_queries_no_blocks():
    nothing = torch.empty(0, dtype=torch.long)
    pairs = Pairs.group(EvalQueries(nothing, nothing, nothing, nothing, nothing))
    assert list(pairs.blocks(4)) == []
