"""The plain encoder."""

import pytest
import torch

from dglkgmix.models.lookup import Lookup


@pytest.mark.parametrize("training", [True, False])
def test_vectors_are_the_tables(training):
    made = Lookup(4, 6, 3, 2).train(training)
    vectors = made.encode(torch.tensor([0]), torch.tensor([1]))
    assert vectors.entities is made.entity_table
    assert vectors.relations is made.relation_table
    assert vectors.position is None
