"""The plain encoder."""

from __future__ import annotations

import torch

from dglkgmix.models.lookup import Lookup


def test_vectors_are_the_tables() -> None:
    encoder = Lookup(4, 6, 3, 2)

    vectors = encoder.encode(torch.tensor([0]), torch.tensor([1]))

    assert vectors.entities is encoder.entity_table
    assert vectors.relations is encoder.relation_table
    assert vectors.position is None
    assert not vectors.sparse


def test_sparse_on_demand() -> None:
    encoder = Lookup(4, 6, 3, 2)
    encoder.sparse = True

    assert encoder.encode().sparse
