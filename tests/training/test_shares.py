from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from dglkgmix.config.classes import DECODERS, find
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.losses.targets import Offsets
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatch
from dglkgmix.strategies import SyntheticBatch
from dglkgmix.training.batch_loss import batch_loss
from dglkgmix.training.defaults import resolve
from dglkgmix.training.prepared import PreparedBatch
from dglkgmix.training.shares import share
from dglkgmix.world import ALONE, World

from .conftest import settings


def queries(samples: int = 5) -> PreparedBatch:
    """Three queries with 2, 0 and 3 positives."""
    numbers = torch.arange(samples)
    return PreparedBatch(
        batch=QueryBatch(
            torch.tensor([4, 5, 6]),
            torch.tensor([0, 1, 2]),
            torch.tensor([0, 0, 2, 2, 2]),
            torch.tensor([10, 11, 12, 13, 14]),
            torch.tensor([20, 21, 22, 23, 24]),
        ),
        weights=torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]),
        scale=0.5,
        terms=60,
        mixed_terms=samples,
        synthetic=SyntheticBatch(numbers, numbers, numbers.float(), numbers // 2, numbers),
        offsets=Offsets(torch.tensor([1, 2]), torch.tensor([7, 8]), torch.tensor([0.1, 0.2])),
    )


def triples() -> PreparedBatch:
    """Three triples; the samples are of the first and the last."""
    numbers = torch.arange(4)
    ids = torch.tensor([4, 5, 6])
    return PreparedBatch(
        batch=TripleBatch(
            ids, ids, ids, ids, torch.arange(6).view(3, 2), torch.ones(3, 2, dtype=torch.bool)
        ),
        weights=torch.tensor([1.0, 2.0, 3.0]),
        scale=1.0,
        terms=9,
        mixed_terms=4,
        synthetic=SyntheticBatch(
            numbers, numbers, numbers.float(), torch.tensor([0, 0, 2, 2]), numbers
        ),
        offsets=torch.arange(9.0).view(3, 3),
    )


def test_alone_it_is_the_batch_itself() -> None:
    item = queries()
    assert share(item, ALONE) is item


def test_rows_go_with_their_positives_and_samples_are_dealt_evenly() -> None:
    first, second = (share(queries(), World(i, 2)) for i in range(2))
    assert first.batch.heads.tolist() == [4]
    assert first.batch.rows.tolist() == [0, 0]
    assert second.batch.heads.tolist() == [5, 6]
    assert (second.batch.rows.tolist(), second.batch.tails.tolist()) == ([1, 1, 1], [12, 13, 14])
    assert second.batch.edges.tolist() == [22, 23, 24]
    assert (first.weights.tolist(), second.weights.tolist()) == ([1, 2], [3, 4, 5])
    assert [len(part.synthetic) for part in (first, second)] == [2, 3]
    assert (len(first.offsets.rows), second.offsets.rows.tolist()) == (0, [0, 1])
    for part in (first, second):
        assert (part.scale, part.terms) == (0.5, 60)
        assert dataclasses.astuple(part.counts) == (3, 5, 5)


def test_a_triples_samples_stay_with_it() -> None:
    first, second = (share(triples(), World(i, 2)) for i in range(2))
    assert (first.batch.heads.tolist(), second.batch.heads.tolist()) == ([4], [5, 6])
    assert second.batch.negatives.tolist() == [[2, 3], [4, 5]]
    assert first.synthetic.positions.tolist() == [0, 0]
    assert second.synthetic.positions.tolist() == [1, 1]
    assert second.synthetic.partners.tolist() == [2, 3]
    assert second.offsets.tolist() == [[3, 4, 5], [6, 7, 8]]
    assert dataclasses.astuple(second.counts) == (3, 3, 4)


def test_a_querys_triples_stay_together() -> None:
    """Two queries with two triples and one: the parts are one query each."""
    item = triples()
    ids = torch.tensor([4, 6])
    batch = dataclasses.replace(item.batch, heads=ids, relations=ids, rows=torch.tensor([0, 0, 1]))
    samples = dataclasses.replace(item.synthetic, weights=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    item = dataclasses.replace(item, batch=batch, synthetic=samples, mixed_terms=10)
    first, second = (share(item, World(i, 2)) for i in range(2))
    assert (first.batch.heads.tolist(), second.batch.heads.tolist()) == ([4], [6])
    assert (first.batch.rows.tolist(), second.batch.rows.tolist()) == ([0, 0], [0])
    assert second.batch.negatives.tolist() == [[4, 5]]
    assert (first.weights.tolist(), second.weights.tolist()) == ([1, 2], [3])
    assert (first.synthetic.weights.tolist(), second.synthetic.weights.tolist()) == ([1, 2], [3, 4])
    assert second.synthetic.positions.tolist() == [0, 0]
    assert (second.mixed_terms, dataclasses.astuple(second.counts)) == (10, (2, 3, 4))


def test_more_processes_than_rows_leave_some_with_nothing() -> None:
    parts = [share(queries(samples=1), World(i, 5)) for i in range(5)]
    assert sorted(len(part.batch) for part in parts) == [0, 0, 1, 1, 1]
    assert sorted(len(part.synthetic) for part in parts) == [0, 0, 0, 0, 1]
    none = dataclasses.replace(queries(), synthetic=None, weights=None, offsets=None)
    assert share(none, World(0, 5)).synthetic is None


NO_IDS, NO_TRIPLES = torch.empty(0, dtype=torch.long), torch.empty(0, 3, dtype=torch.long)
EMPTY = {
    "1-n": QueryBatch(*[NO_IDS] * 5),
    "1-k": TripleBatch(*[NO_IDS] * 4, NO_TRIPLES, NO_TRIPLES.bool()),
}


@pytest.mark.parametrize("decoder", DECODERS)
def test_an_empty_part_costs_nothing_and_gives_gradients_of_nothing(
    graph: KnowledgeGraph, decoder: str
) -> None:
    """Each process must send a gradient of each parameter, with whatever loss."""
    for regime, loss, name in itertools.product(EMPTY, ("bce", "ce"), ("mixup", "focal")):
        training = (f"training.regime={regime}", f"training.loss={loss}", "training.n3=0.1")
        config = resolve(
            settings(f"model.decoder={decoder}", f"strategy.name={name}", *training), graph
        )
        model = LinkPredictor.build(config.model, graph).train()
        strategy = find("strategy", name)(graph, config.strategy, config.training)
        samples = SyntheticBatch(NO_TRIPLES, NO_TRIPLES, torch.empty(0), NO_IDS, NO_IDS)
        item = PreparedBatch(EMPTY[regime], None, 1.0, 0, 0, samples, None)
        terms = batch_loss(model, model.encode(), item, strategy, config.training)
        terms.loss.backward()
        assert float(terms.loss.detach()) == 0
        assert all(is_zero(p.grad) for p in model.parameters())


def is_zero(gradient: Any) -> bool:
    return isinstance(gradient, Tensor) and not gradient.any()
