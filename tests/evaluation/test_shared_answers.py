"""What known answers say of a candidate, by hand and by counting pairs one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dglkgmix.evaluation import shared_answers
from dglkgmix.evaluation.shared_answers import SharedAnswers
from dglkgmix.kg.index import TripleIndex


def index(triples, entities=12, relations=2):
    return TripleIndex.build(torch.tensor(triples), entities, relations)


def plain(facts, head, entity, hub=10**9):
    """Sets of one relation: the two figures."""
    tails_of, heads_of = {}, {}
    for h, t in facts:
        tails_of.setdefault(h, set()).add(t)
        heads_of.setdefault(t, set()).add(h)
    small = {h for h, tails in tails_of.items() if len(tails) <= hub}
    few = {t for t, heads in heads_of.items() if len(heads) <= hub}
    by_answer = [
        len(heads_of[a] & heads_of.get(entity, set()) & small) / (1 + len(heads_of[a]))
        for a in tails_of.get(head, ())
    ]
    by_head = [
        len(tails_of[g] & tails_of.get(head, set()) & few) / (1 + len(tails_of[g]))
        for g in heads_of.get(entity, ())
    ]
    return [sum(x**4 for x in shares) ** 0.25 for shares in (by_answer, by_head)]


@pytest.mark.parametrize("hub", [500, 3])
def test_figures_are_those_of_sets(monkeypatch, hub):
    monkeypatch.setattr(shared_answers, "HUB", hub)
    monkeypatch.setattr(shared_answers, "_BLOCK", 4)
    draw = np.random.default_rng(0)
    triples = {(int(h), int(r), int(t)) for h, r, t in draw.integers((12, 2, 12), size=(70, 3))}
    heads, relations = (column.ravel() for column in np.mgrid[:12, :2])
    queries = zip(heads, relations, strict=True)
    new = [[e for e in range(12) if (h, r, e) not in triples][:2] for h, r in queries]
    entities = np.array(new)
    found = SharedAnswers(index(sorted(triples))).of(heads, relations, entities)
    for h, r, row, figures in zip(heads, relations, entities, found, strict=True):
        facts = [(a, c) for a, b, c in triples if b == r]
        expected = [plain(facts, h, e, hub) for e in row.tolist()]
        assert figures == pytest.approx(np.array(expected), abs=1e-5)
    assert (found > 0).any()
