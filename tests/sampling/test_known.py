"""Which drawn triples are training triples."""

from __future__ import annotations

import torch

from dglkgmix.kg.index import TripleIndex
from dglkgmix.sampling import known
from dglkgmix.sampling.known import KnownTriples


def random_index(entities: int, relations: int, triples: int) -> TripleIndex:
    bounds = (entities, relations, entities)
    chance = torch.Generator().manual_seed(3)
    columns = [torch.randint(bound, (triples,), generator=chance) for bound in bounds]
    return TripleIndex.build(torch.stack(columns, 1), entities, relations)


def test_every_pair_is_told_apart() -> None:
    index = random_index(40, 3, 500)
    rows = torch.arange(len(index)).repeat_interleave(40)
    tails = torch.arange(40).repeat(len(index))
    expected = index.contains(index.heads[rows], index.relations[rows], tails)
    assert torch.equal(KnownTriples(index).positions(rows, tails), expected.nonzero().flatten())
    assert 0 < int(expected.sum()) < len(expected)


def test_a_full_table_only_costs_time(monkeypatch) -> None:
    monkeypatch.setattr(known, "_TABLE_BITS", (1, 1))
    index = random_index(20, 2, 100)
    rows = torch.arange(len(index)).repeat_interleave(20)
    tails = torch.arange(20).repeat(len(index))
    expected = index.contains(index.heads[rows], index.relations[rows], tails)
    assert torch.equal(KnownTriples(index).positions(rows, tails), expected.nonzero().flatten())


def test_the_table_answers_for_nearly_all() -> None:
    index = random_index(1000, 4, 2000)
    table = KnownTriples(index)._perhaps
    assert float(table.float().mean()) < 0.13
