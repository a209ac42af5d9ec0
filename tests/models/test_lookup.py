"""The plain encoder."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.models.lookup import Lookup


def encoder() -> Lookup:
    made = Lookup(4, 6, 3, 2)
    torch.nn.init.normal_(made.entity_table)
    return made


@pytest.mark.parametrize("training", [True, False])
def test_vectors_are_the_tables(training: bool) -> None:
    made = encoder().train(training)

    vectors = made.encode(torch.tensor([0]), None if training else torch.tensor([1]))

    assert vectors.entities is made.entity_table
    assert vectors.relations is made.relation_table
    assert vectors.position is None


def test_only_the_nodes_asked_for_are_read_and_learn() -> None:
    made = encoder()
    vectors = made.encode(nodes=torch.tensor([1, 3]))

    assert vectors.entities.shape == (2, 3)
    assert torch.equal(vectors.entity(torch.tensor([3, 1])), made.entity_table[[3, 1]])
    (2 * vectors.entity(torch.tensor([3, 3]))).sum().backward()
    gradient = made.entity_table.grad
    assert gradient is not None
    assert gradient.is_sparse
    assert gradient.to_dense().tolist() == [[0.0] * 3] * 3 + [[4.0] * 3]
