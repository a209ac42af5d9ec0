"""Many readers of the entity table, one gradient."""

import torch

from dglkgmix.kernels.candidates import candidate_scores
from dglkgmix.kernels.fused import FusedTerms
from dglkgmix.kernels.table import Table, TableGradient
from dglkgmix.losses.pointwise import bce_terms
from dglkgmix.losses.targets import Targets
from tests.kernels import dense
from tests.kernels.dense import POSITIVES, operands

IDS = torch.tensor([[1, 1, 4], [0, 1, 6]])


class TestTableGradient:
    def test_the_order_does_not_matter(self):
        adds = [
            lambda g: g.add_rows(torch.tensor([0, 0]), torch.tensor([[1.0], [2.0]])),
            lambda g: g.add_table(torch.tensor([[10.0], [20.0]])),
            lambda g: g.add_to_all(torch.tensor([100.0])),
        ]
        for shift in range(3):
            gradient = TableGradient(torch.empty(2, 1))
            for add in adds[shift:] + adds[:shift]:
                add(gradient)
            assert gradient.take().tolist() == [[113.0], [120.0]]

    def test_it_begins_anew_after_each_taking(self):
        gradient = TableGradient(torch.empty(2, 1))
        gradient.add_table(torch.ones(2, 1))
        gradient.take()
        assert gradient.take().tolist() == [[0.0], [0.0]]


class TestTable:
    def readers(self, table, query, bias):
        """All kinds of readers, some on top of others."""
        rows = table.rows(IDS)
        scores = candidate_scores(query[:2] + rows.sum(1), table, IDS)
        fused = FusedTerms.apply(
            query, table.anchor, bias, table, POSITIVES, bce_terms(Targets(), None)
        )
        return fused + scores.sin().sum() + (table.sum() ** 2).sum() + rows.pow(2).sum()

    def plain(self, entities, query, bias):
        rows = entities[IDS]
        scores = ((query[:2] + rows.sum(1)) @ entities.T).gather(1, IDS)
        fused = dense.bce(query @ entities.T + bias, POSITIVES, Targets())
        return fused + scores.sin().sum() + (entities.sum(0) ** 2).sum() + rows.pow(2).sum()

    def test_one_gradient_for_all(self):
        query, entities, bias = operands()
        loss = self.readers(Table(entities), query, bias)
        dense.assert_same(loss, self.plain(entities, query, bias), (query, entities, bias))

    def test_beside_other_uses_of_the_table(self):
        _, entities, _ = operands()
        (Table(entities).rows(IDS).sum() + entities.pow(2).sum()).backward()
        counts = torch.bincount(IDS.flatten(), minlength=dense.E).unsqueeze(1)
        torch.testing.assert_close(entities.grad, 2 * entities.detach() + counts)

    def test_a_table_that_does_not_learn(self):
        query, entities, bias = operands()
        loss = self.readers(Table(entities.detach()), query, bias)
        loss.backward()
        assert entities.grad is None


def test_a_cast_is_made_once():
    table = Table(torch.tensor([[1.0, 1.00390625]]))  # 1 + 2⁻⁸ rounds to 1 in bfloat16
    cast = table.cast(torch.bfloat16)
    assert cast.tolist() == [[1.0, 1.0]]
    assert table.cast(torch.bfloat16) is cast
    assert table.cast(torch.float) is not cast
    assert Table(table.values).cast(torch.float).data_ptr() == table.values.data_ptr()
