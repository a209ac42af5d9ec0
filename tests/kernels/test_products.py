"""Products with all entities in blocks."""

import pytest
import torch

from dglkgmix.kernels import products as module
from dglkgmix.kernels.products import Gradients, Products, places_in_blocks, product_dtype
from dglkgmix.kernels.table import Table

B, E, D = 3, 10, 4


@pytest.fixture
def operands():
    chance = torch.Generator().manual_seed(0)
    shapes = ((B, D), (E, D), (E,))
    query, entities, bias = (
        torch.randn(shape, generator=chance, dtype=torch.double) for shape in shapes
    )
    return query, entities, bias


def of(query, entities, bias):
    return Products(query, Table(entities), bias)


@pytest.fixture(params=[1000, 15, 12, 1])
def block(request, monkeypatch):
    monkeypatch.setattr(module, "CPU_BLOCK", request.param)
    return request.param


def test_blocks_cover_all_entities_once(operands, block):
    blocks = of(*operands).blocks()
    assert [i for part in blocks for i in range(E)[part]] == list(range(E))
    assert len(blocks) == {1000: 1, 15: 2, 12: 3, 1: 10}[block]
    assert blocks[0].stop - blocks[0].start >= max(len(range(E)[part]) for part in blocks)


@pytest.mark.parametrize("with_bias", [True, False])
def test_scores_and_gradients(operands, block, with_bias):
    query, entities, bias = operands
    products = of(query, entities, bias if with_bias else None)
    expected = entities @ query.T + (bias.unsqueeze(1) if with_bias else 0)
    gradients = Gradients(products, (True, True, with_bias))
    buffer = products.buffer(E)
    for part in products.blocks():
        scores = products.scores(part, buffer)
        torch.testing.assert_close(scores, expected[part])
        gradients.add(part, scores.sin())
    upstream = expected.sin()
    gradients.scale(torch.tensor(3.0, dtype=torch.double))
    table = Table(entities)
    by_query, by_anchor, by_bias = gradients.give(table)
    assert by_anchor is None
    torch.testing.assert_close(by_query, 3 * upstream.T @ entities)
    torch.testing.assert_close(table.gradient.take(), 3 * upstream @ query)
    if with_bias:
        torch.testing.assert_close(by_bias, 3 * upstream.sum(1))
    else:
        assert by_bias is None


def test_gradients_that_nobody_wants_are_not_made(operands):
    gradients = Gradients(of(*operands), (False, True, False))
    assert (gradients.query, gradients.bias) == (None, None)
    gradients = Gradients(of(*operands), (True, False, True))
    table = Table(operands[1])
    gradients.give(table)
    assert not table.gradient.take().any()


def test_places_in_blocks(operands, block):
    rows = torch.tensor([0, 2, 1, 0])
    tails = torch.tensor([9, 0, 5, 4])
    marks = torch.zeros(E, B, dtype=torch.long)
    blocks = of(*operands).blocks()
    for part, (flat, index) in zip(blocks, places_in_blocks(rows, tails, blocks, B), strict=True):
        marks[part].view(-1)[flat] = index + 1
    assert marks.sum() == 1 + 2 + 3 + 4
    assert marks[tails, rows].tolist() == [1, 2, 3, 4]


class TestPrecision:
    def test_the_widest_operand_decides(self, operands):
        query, entities, _ = operands
        assert product_dtype(query.float(), entities) is torch.double
        assert product_dtype(query, entities.float()) is torch.double
        assert product_dtype(query.bfloat16(), entities.float()) is torch.float

    def test_autocast_decides_where_it_is_on(self, operands):
        query, entities, _ = (operand.float() for operand in operands)
        with torch.autocast("cpu", torch.bfloat16):
            assert product_dtype(query, entities) is torch.bfloat16
            with torch.autocast("cpu", enabled=False):
                assert product_dtype(query, entities) is torch.float

    def test_sums_are_wide(self, operands, block):
        """Products, and the scores that they write, in bfloat16; sums of them in float32."""
        query, entities, bias = (operand.float() for operand in operands)
        with torch.autocast("cpu", torch.bfloat16):
            products = of(query, entities, bias)
        gradients = Gradients(products, (True, True, True))
        buffer = products.buffer(E)
        exact = entities @ query.T + bias.unsqueeze(1)
        for part in products.blocks():
            scores = products.scores(part, buffer)
            assert scores.dtype is torch.bfloat16
            torch.testing.assert_close(scores.float(), exact[part], rtol=0, atol=0.06)
            gradients.add(part, torch.ones_like(scores))
        table = Table(entities)
        gradients.give(table)
        assert gradients.query.dtype is table.gradient.take().dtype is torch.float
        torch.testing.assert_close(gradients.query, entities.sum(0).expand(B, D), rtol=0, atol=0.06)
        torch.testing.assert_close(gradients.bias, torch.full((E,), float(B)))
