"""Scores that do not depend on how the work is cut, and ranks that follow from them."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from dglkgmix.evaluation import ranking
from dglkgmix.evaluation.exact_product import candidate_product, product, rounded
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import Processes
from tests.graphs import random_rows
from tests.settings import settled_model


@pytest.mark.parametrize(("dim", "step"), [(4, 2**-21), (512, 2**-21), (513, 2**-20)])
def test_a_vector_keeps_so_many_bits_below_its_largest_number(dim, step):
    vector = torch.zeros(2, dim)
    vector[0, :4] = torch.tensor([1.0, step, step / 4, -0.75 * step])
    vector[1] = 1000 * vector[0]  # its largest lies between 2^9 and 2^10: steps of 2^9 as many
    found = rounded(vector)
    assert found[0, :4].tolist() == [1.0, step, 0.0, -step]
    assert torch.equal(found[1], (vector[1] / (512 * step)).round() * 512 * step)
    assert torch.equal(rounded(found), found)


def test_vectors_that_are_not_finite_score_what_is_not_finite():
    vectors = torch.tensor([[1.0, torch.inf], [torch.nan, 2.0], [0.0, 0.0]])
    ones = rounded(torch.ones(1, 2))
    assert torch.isfinite(product(ones, rounded(vectors))).tolist() == [[False, False, True]]


@pytest.mark.parametrize("dim", [3, 200, 512, 1000])
def test_a_product_is_the_exact_one_in_any_order_and_cut(dim):
    generator = torch.Generator().manual_seed(dim)
    queries = rounded(torch.randn(5, dim, generator=generator) * torch.logspace(-9, 9, 5)[:, None])
    entities = rounded(torch.randn(3000, dim, generator=generator))
    bias = torch.randn(3000, generator=generator)
    whole = product(queries, entities, bias)
    for row, entity in [(0, 0), (4, 2999), (2, 1024)]:
        terms = zip(queries[row].tolist(), entities[entity].tolist(), strict=True)
        exact = sum(Fraction(a) * Fraction(b) for a, b in terms)
        assert whole[row, entity] == (bias[entity].double() + float(exact)).float()
    order = torch.randperm(dim, generator=generator)
    assert torch.equal(product(queries[:, order], entities[:, order], bias), whole)
    assert torch.equal(product(queries[1:2], entities[7:9], bias[7:9]), whole[1:2, 7:9])
    chosen = torch.randint(3000, (5, 4), generator=generator)
    found = candidate_product(queries, entities[chosen], bias[chosen])
    assert torch.equal(found, whole.gather(1, chosen))


def ranks(kg, model, **options):
    found = rank(ModelScorer(model), evaluation_queries(kg, "test"), kg.known_index, **options)
    return torch.stack([found.score, found.optimistic, found.pessimistic, found.rank])


def test_a_hundred_equal_vectors_are_in_the_middle_for_every_block():
    """Case 65."""
    kg = KnowledgeGraph.from_arrays([(0, 0, 1)], None, [(2, 0, 5), (99, 0, 0)], entities=100)
    model = LinkPredictor.build(settled_model("distmult", 37), kg)
    with torch.no_grad():
        model.encoder.entity_table[:] = model.encoder.entity_table[0].clone()
    for block in (7, 33, 50, 99, 100, 101, 10_000):
        assert ranks(kg, model, block=block)[3].tolist() == [50.5] * 4


class Unsummed(Processes):
    """One of three processes, whose sums are not made: the score of what it does not rank is 0."""

    def add_up(self, *tensors):
        pass

    def gathered(self, value):
        return [value]


@pytest.mark.parametrize("decoder", ["distmult", "complex", "conve", "tucker", "rescal", "transe"])
@pytest.mark.parametrize("encoder", ["lookup", "rgcn"])
def test_a_barely_trained_model_ranks_the_same_for_every_block_and_process_count(
    monkeypatch, decoder, encoder
):
    """Case 65: scores so close that float32 products put many in another order in other blocks."""
    monkeypatch.setattr(ranking, "RUN", 64)
    rows = random_rows(2000, 3, 200, seed=1)
    kg = KnowledgeGraph.from_arrays(rows[:100], None, rows[100:], entities=2000, relations=3)
    model = LinkPredictor.build(settled_model(decoder, 36, encoder=encoder, filters=2), kg)
    with torch.no_grad():  # nearly the same vector everywhere
        table = model.encoder.entity_table
        table.copy_(table[:1] + 1e-6 * table)
    expected = ranks(kg, model)
    for block in (1500, 14_000, 65 * 2000):
        found = ranks(kg, model, block=block)
        assert torch.equal(found[1:], expected[1:])
        torch.testing.assert_close(found[0], expected[0])
    parts = [ranks(kg, model, block=9000, processes=Unsummed(i, 3)) for i in range(3)]
    done = torch.stack([part[0] != 0 for part in parts])
    assert done.sum(0).tolist() == [1] * 200
    found = torch.stack(parts)[done.int().argmax(0), :, torch.arange(200)].T
    assert torch.equal(found[1:], expected[1:])
