"""Log-partitions and picked scores."""

import pytest
import torch

from dglkgmix.kernels import partition, products
from dglkgmix.kernels.partition import RowStatistics
from dglkgmix.kernels.table import Table
from dglkgmix.losses.targets import Offsets
from tests.kernels import dense
from tests.kernels.dense import POSITIVES, operands

OFFSETS = Offsets(
    torch.tensor([0, 1, 2, 2]),
    torch.tensor([2, 3, 6, 0]),
    torch.tensor([0.5, 1.0, 2.0, -3.0], dtype=torch.double),
)


@pytest.fixture(params=[(2**20, 2**28), (6, 2**28), (6, 0)], ids=["whole", "blocks", "anew"])
def block(request, monkeypatch):
    """All at once, in blocks that are kept, in blocks that are computed again."""
    size, kept = request.param
    monkeypatch.setattr(products, "CPU_BLOCK", size)
    monkeypatch.setattr(partition, "KEPT_SCORES", kept)


def statistics(inputs, offsets):
    query, entities, bias = inputs
    table = Table(entities)
    return RowStatistics.apply(
        query, table.anchor, bias, table, POSITIVES.rows, POSITIVES.tails, offsets
    )


def by_definition(inputs, offsets):
    query, entities, bias = inputs
    scores = query @ entities.T + (0 if bias is None else bias)
    if offsets is not None:
        scores = scores.index_put((offsets.rows, offsets.tails), offsets.values, accumulate=True)
    return scores.logsumexp(1), scores[POSITIVES.rows, POSITIVES.tails]


@pytest.mark.usefixtures("block")
class TestRowStatistics:
    @pytest.mark.parametrize("offsets", [None, OFFSETS])
    def test_values_and_gradients(self, offsets):
        inputs = operands(scale=3.0)
        mine, expected = statistics(inputs, offsets), by_definition(inputs, offsets)
        torch.testing.assert_close(mine, expected)
        totals = [(rows.sin() * 2).sum() + (picked**2).sum() for rows, picked in (mine, expected)]
        dense.assert_same(*totals, inputs)

    def test_gradcheck(self):
        """Gradcheck goes back through the same graph several times."""
        assert torch.autograd.gradcheck(lambda *inputs: statistics(inputs, OFFSETS), operands())

    def test_one_output_alone(self):
        inputs = operands()
        for number in (0, 1):
            a, b = (
                dense.gradients(both[number].sum(), inputs[:2])
                for both in (statistics(inputs, None), by_definition(inputs, None))
            )
            torch.testing.assert_close(a, b)

    def test_without_bias(self):
        query, entities, _ = operands()
        mine = statistics((query, entities, None), OFFSETS)
        torch.testing.assert_close(mine, by_definition((query, entities, None), OFFSETS))

    def test_large_scores_do_not_overflow(self):
        inputs = operands(scale=1000.0)
        torch.testing.assert_close(statistics(inputs, None), by_definition(inputs, None))

    def test_bfloat16_products_are_near(self):
        inputs = tuple(tensor.detach().float().requires_grad_() for tensor in operands())
        with torch.autocast("cpu", torch.bfloat16):
            rows, picked = statistics(inputs, None)
        expected = by_definition(inputs, None)
        torch.testing.assert_close((rows, picked), expected, rtol=0.02, atol=0.02)
        gradients = dense.gradients(rows.sum() + picked.sum(), inputs)
        others = dense.gradients(expected[0].sum() + expected[1].sum(), inputs)
        torch.testing.assert_close(gradients, others, rtol=0, atol=0.05)


@pytest.mark.parametrize(("limit", "room"), [(12, 12), (11, 6)], ids=["kept", "anew"])
def test_room_for_all_scores_is_taken_up_to_the_limit_alone(monkeypatch, limit, room):
    monkeypatch.setattr(products, "CPU_BLOCK", 6)
    monkeypatch.setattr(partition, "KEPT_SCORES", limit)
    scores = products.Products(torch.zeros(3, 1), Table(torch.zeros(4, 1)), None)
    assert partition._Exponentials(scores, None)._buffer.numel() == room
