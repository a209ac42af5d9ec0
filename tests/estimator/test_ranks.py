"""Ranks of triples with names that training has not seen."""

import numpy as np
import torch

from dglkgmix.estimator.ranks import degrees, filtered_ranks
from dglkgmix.kg.graph import KnowledgeGraph


class Constant:
    """Scores entity i by i."""

    num_entities = 4

    def query(self, heads, relations):
        return heads

    def scores(self, query, start, stop):
        return torch.arange(start, stop).float().expand(len(query), -1)


def graph():
    return KnowledgeGraph.from_arrays([[0, 0, 3], [0, 0, 1], [1, 0, 3]], entities=4, relations=1)


def test_known_answers_leave_and_x_counts_as_known():
    ranks = filtered_ranks(Constant(), graph(), np.array([[0, 0, 2], [0, 0, 0]]))
    # (0, 0, ?): 3 and 1 are known. Answer 2 has the highest score left; 0 the lowest of 2 and 0,
    # but 2 is an answer of X itself. (?, 0, 2): heads 0 to 3 by score, 0 last; (?, 0, 0) likewise.
    assert ranks.tolist() == [[1, 4], [1, 4]]


def test_an_unseen_name_ranks_in_the_middle():
    ranks = filtered_ranks(Constant(), graph(), np.array([[-1, 0, 3], [0, -1, 3]]))
    # Five candidates where the answer itself is unseen, four elsewhere.
    assert ranks.tolist() == [[2.5, 3.0], [2.5, 2.5]]


def test_degrees_of_both_queries():
    # Tail 3 has two heads under relation 0; head 0 two tails. Unseen names have none.
    assert degrees(graph(), np.array([[0, 0, 3], [0, 0, -1]])).tolist() == [[2, 2], [0, 0]]
