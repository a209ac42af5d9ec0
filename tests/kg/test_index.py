import pytest
import torch

from dglkgmix.errors import OutOfRangeError
from dglkgmix.kg.index import TripleIndex

ROWS = [(2, 0, 1), (0, 1, 3), (0, 1, 2), (2, 0, 1), (0, 0, 2), (0, 1, 0)]


@pytest.fixture
def index():
    return TripleIndex.build(torch.tensor(ROWS), 4, 2)


def test_layout(index):
    assert index.heads.tolist() == [0, 0, 2]
    assert index.relations.tolist() == [0, 1, 0]
    assert index.indptr.tolist() == [0, 1, 4, 5]
    assert index.tails.tolist() == [2, 0, 2, 3, 1]
    assert len(index) == 3


def test_locate(index):
    assert index.locate([0, 2, 3, 0], [1, 0, 0, 0]).tolist() == [1, 2, -1, 0]


def test_tails_of_a_batch_with_absent_and_repeated_queries(index):
    rows, tails = index.tails_of(torch.tensor([3, 0, 2, 0]), torch.tensor([0, 1, 0, 1]))
    assert rows.tolist() == [1, 1, 1, 2, 3, 3, 3]
    assert tails.tolist() == [0, 2, 3, 1, 0, 2, 3]


def test_triples_of_a_batch_of_heads(index):
    rows, relations, tails = index.triples_of([2, 3, 0])
    assert list(zip(*(x.tolist() for x in (rows, relations, tails)), strict=True)) == [
        *((0, 0, 1), (2, 0, 2), (2, 1, 0), (2, 1, 2), (2, 1, 3)),
    ]
    with pytest.raises(OutOfRangeError):
        index.triples_of([4])


def test_contains_agrees_with_a_set(index):
    h, r, t = torch.meshgrid(torch.arange(4), torch.arange(2), torch.arange(4), indexing="ij")
    expected = torch.zeros(4, 2, 4, dtype=torch.bool)
    for row in ROWS:
        expected[row] = True
    assert torch.equal(index.contains(h, r, t), expected)


def test_contains_broadcasts(index):
    heads, relations = torch.tensor([[0], [3]]), torch.tensor([[1], [1]])
    answer = index.contains(heads, relations, torch.tensor([[0, 1]]))
    assert answer.tolist() == [[True, False], [False, False]]


@pytest.mark.parametrize("query", [(4, 0), (-1, 0), (0, 2), (0, -1)])
def test_unknown_ids_raise(index, query):
    with pytest.raises(OutOfRangeError):
        index.locate([query[0]], [query[1]])


def test_without_triples():
    empty = TripleIndex.build(torch.empty((0, 3), dtype=torch.long), 4, 2)
    assert len(empty) == 0
    assert empty.indptr.tolist() == [0]
    assert empty.tails_of([1], [1])[1].tolist() == []
    assert [x.tolist() for x in empty.triples_of([1])] == [[], [], []]
    assert empty.contains([1], [1], [1]).tolist() == [False]


def test_ids_too_large_for_one_key():
    far = 3_000_000_000
    index = TripleIndex.build(torch.tensor([(far, 1, 0), (0, 1, far), (0, 0, far)]), far + 1, 2)
    assert index.heads.tolist() == [0, 0, far]
    assert index.contains([far, 0, 0], [1, 1, 1], [0, far, 0]).tolist() == [True, True, False]
