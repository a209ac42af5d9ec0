import numpy as np
import pytest
import torch

from dglkgmix.errors import DataError, OutOfRangeError
from dglkgmix.kg.keys import as_ids, distinct, expand, find, triple_keys

TRIPLES = torch.tensor([[2, 0, 1], [0, 1, 2], [2, 0, 1], [0, 1, 0], [0, 0, 2]])


@pytest.mark.parametrize("num_entities", [3, 3_000_000_000], ids=["packed", "beyond 63 bits"])
def test_keys_sort_as_rows_do(num_entities):
    triples = TRIPLES.clone()
    triples[triples == 2] = num_entities - 1
    keys = triple_keys(triples, num_entities, 2)
    order = sorted(range(5), key=lambda i: (triples[i].tolist(), i))
    assert torch.sort(keys, stable=True).indices.tolist() == order
    assert keys[0] == keys[2]
    assert len(keys.unique()) == 4


def test_distinct_keys_in_order_of_appearance():
    first, which = distinct(torch.tensor([5, 3, 5, 1, 3, 9]))
    assert first.tolist() == [0, 1, 3, 5]
    assert which.tolist() == [0, 1, 0, 2, 1, 3]
    assert [part.tolist() for part in distinct(torch.tensor([], dtype=torch.long))] == [[], []]


def test_find():
    keys = torch.tensor([2, 4, 9])
    assert find(keys, torch.tensor([[9, 3], [2, 10]])).tolist() == [[2, -1], [0, -1]]
    assert find(torch.tensor([], dtype=torch.long), torch.tensor([1])).tolist() == [-1]


@pytest.mark.parametrize("values", [3, [0, 3], np.array([1, 3], np.int32), torch.tensor([[3]])])
def test_ids_keep_their_shape_and_are_checked(values):
    assert as_ids(values, "entity", 4).shape == torch.as_tensor(values).shape
    with pytest.raises(OutOfRangeError, match="no entity with id 3: ids run from 0 to 2"):
        as_ids(values, "entity", 3)


def test_ids_below_zero_and_of_other_kinds():
    with pytest.raises(IndexError, match="no relation with id -1"):
        as_ids([0, -1], "relation", 3)
    for values in ([0.5], [True], ["a"]):
        with pytest.raises(DataError, match="integers"):
            as_ids(values, "entity", 3)
    assert as_ids([], "entity", 3).tolist() == []


def test_stretches_come_one_after_the_other():
    rows, positions = expand(torch.tensor([10, 3, 0, 7]), torch.tensor([2, 0, 3, 1]))
    assert rows.tolist() == [0, 0, 2, 2, 2, 3]
    assert positions.tolist() == [10, 11, 0, 1, 2, 7]
    nothing = expand(torch.tensor([4]), torch.tensor([0]))
    assert [(part.dtype, len(part)) for part in nothing] == [(torch.long, 0)] * 2
