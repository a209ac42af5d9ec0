from __future__ import annotations

import pytest
import torch

from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.ranking import Ranks


def table_of(kg, ranks, scores=None, split="test"):
    """A rank table with given realistic ranks, (2N,): tail queries, then head queries."""
    count = 2 * len(kg.split(split))
    ranks = torch.as_tensor(ranks, dtype=torch.float64)
    assert len(ranks) == count
    return RankTable.from_ranks(
        kg,
        evaluation_queries(kg, split),
        Ranks(
            score=torch.zeros(count) if scores is None else torch.as_tensor(scores).float(),
            rank=ranks,
            optimistic=ranks.floor().long(),
            pessimistic=ranks.ceil().long(),
            candidates=torch.full((count,), kg.num_entities),
            missed=torch.zeros(count, dtype=torch.bool),
        ),
    )


@pytest.fixture
def write(tmp_path):
    """``write(lines, name)``: the path of a file with those lines."""

    def write(lines, name):
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def make_ranks():
    """``make_ranks(kg, ranks, scores=None, split="test")``: a rank table with those ranks."""
    return table_of


@pytest.fixture
def table(toy):
    """The four queries of the toy graph's test split with the ranks 1 to 4."""
    return table_of(toy, [1, 2, 3, 4])
