"""One process's part of a batch: some of its rows, with the divisors of the whole.

Each process prepares the whole batch, from the one seed, and keeps its part. Sums over all parts
are then the sums over the batch, and what is counted over a batch (the terms that "mean" divides
by, the scale that brings weights to mean 1) is known to all without a word.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from dglkgmix.losses.targets import Offsets
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatch
from dglkgmix.strategies import SyntheticBatch
from dglkgmix.training.prepared import PreparedBatch
from dglkgmix.world import World


def share(item: PreparedBatch, world: World) -> PreparedBatch:
    """The part of ``item`` that is this process's; together the parts are ``item``.

    A part may be empty. In 1-N synthetic samples are dealt out evenly, whoever has their
    positives; their ``positions`` are those of the whole batch.
    """
    if world.size == 1:
        return item
    if isinstance(item.batch, QueryBatch):
        return _queries(item, item.batch, world)
    return _triples(item, item.batch, world)


def _queries(item: PreparedBatch, batch: QueryBatch, world: World) -> PreparedBatch:
    rows = world.part(len(batch))
    positives = _stretch(batch.rows, rows)
    offsets, samples = item.offsets, item.synthetic
    return dataclasses.replace(
        item,
        batch=QueryBatch(
            heads=batch.heads[rows],
            relations=batch.relations[rows],
            rows=batch.rows[positives] - rows.start,
            tails=batch.tails[positives],
            edges=batch.edges[positives],
        ),
        weights=None if item.weights is None else item.weights[positives],
        synthetic=None if samples is None else _samples(samples, world.part(len(samples)), 0),
        offsets=_entries(offsets, rows) if isinstance(offsets, Offsets) else None,
        whole=item.counts,
    )


def _triples(item: PreparedBatch, batch: TripleBatch, world: World) -> PreparedBatch:
    queries = world.part(len(batch.heads))
    rows = queries if batch.rows is None else _stretch(batch.rows, queries)
    samples = item.synthetic
    if samples is not None:
        samples = _samples(samples, _stretch(samples.positions, rows), rows.start)
    return dataclasses.replace(
        item,
        batch=TripleBatch(
            heads=batch.heads[queries],
            relations=batch.relations[queries],
            tails=batch.tails[rows],
            edges=batch.edges[rows],
            negatives=batch.negatives[rows],
            mask=batch.mask[rows],
            rows=None if batch.rows is None else batch.rows[rows] - queries.start,
        ),
        weights=None if item.weights is None else item.weights[rows],
        synthetic=samples,
        offsets=item.offsets[rows] if isinstance(item.offsets, Tensor) else None,
        whole=item.counts,
    )


def _samples(samples: SyntheticBatch, which: slice, shift: int) -> SyntheticBatch:
    given = {f.name: getattr(samples, f.name) for f in dataclasses.fields(samples)}
    columns = {name: values[which] for name, values in given.items() if values is not None}
    columns["positions"] = columns["positions"] - shift
    return SyntheticBatch(**columns)


def _entries(offsets: Offsets, rows: slice) -> Offsets:
    which = _stretch(offsets.rows, rows)
    return Offsets(offsets.rows[which] - rows.start, offsets.tails[which], offsets.values[which])


def _stretch(owners: Tensor, rows: slice) -> slice:
    """Where the ascending ``owners`` (N,) lie in ``rows``."""
    bounds = torch.tensor([rows.start, rows.stop], dtype=owners.dtype, device=owners.device)
    first, last = torch.searchsorted(owners, bounds).tolist()
    return slice(first, last)
