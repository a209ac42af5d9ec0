"""The fused binary cross-entropy of a 1-N batch."""

import dataclasses

import pytest
import torch

from dglkgmix.kernels import products
from dglkgmix.kernels.fused import FusedScores, FusedTerms, terms_to_gradient_
from dglkgmix.kernels.table import Table
from dglkgmix.losses.pointwise import bce_terms
from dglkgmix.losses.targets import Targets
from tests.kernels import dense
from tests.kernels.dense import FOCI, POSITIVES, WEIGHTS, operands

TARGETS = [Targets(), Targets.smoothed(0.1, "auto", dense.E), Targets.smoothed(0.3, 1.0, dense.E)]


def fused(query, entities, bias, positives, terms):
    table = Table(entities)
    return FusedTerms.apply(query, table.anchor, bias, table, positives, terms)


@pytest.fixture(params=[2**20, 6], ids=["one block", "blocks"])
def block(request, monkeypatch):
    monkeypatch.setattr(products, "CPU_BLOCK", request.param)


@pytest.mark.usefixtures("block")
class TestProducts:
    @pytest.mark.parametrize("focus", FOCI)
    @pytest.mark.parametrize("targets", TARGETS)
    @pytest.mark.parametrize("weights", [None, WEIGHTS])
    def test_value_and_gradients_are_the_plain_formulas(self, focus, targets, weights):
        inputs = operands(scale=2.0)
        positives = dataclasses.replace(POSITIVES, weights=weights)
        loss = fused(*inputs, positives, bce_terms(targets, focus))
        query, entities, bias = inputs
        expected = dense.bce(query @ entities.T + bias, positives, targets, focus)
        dense.assert_same(loss, expected, inputs)

    def test_without_bias(self):
        query, entities, _ = operands()
        loss = fused(query, entities, None, POSITIVES, bce_terms(TARGETS[1], None))
        torch.testing.assert_close(loss, dense.bce(query @ entities.T, POSITIVES, TARGETS[1]))
        loss.backward()

    def test_bfloat16_products_are_near(self):
        exact = operands()
        inputs = tuple(tensor.detach().float().requires_grad_() for tensor in exact)
        terms = bce_terms(TARGETS[1], None)
        with torch.autocast("cpu", torch.bfloat16):
            loss = fused(*inputs, POSITIVES, terms)
        assert loss.dtype is torch.float
        expected = fused(*exact, POSITIVES, terms)
        torch.testing.assert_close(loss.double(), expected, rtol=0.01, atol=0)
        for mine, other in zip(
            dense.gradients(loss, inputs), dense.gradients(expected, exact), strict=True
        ):
            assert mine.dtype is torch.float
            torch.testing.assert_close(mine.double(), other, rtol=0, atol=0.05)


def test_a_graph_that_is_kept_gives_the_same_gradients_again():
    inputs = operands()
    loss = fused(*inputs, POSITIVES, bce_terms(TARGETS[1], None))
    loss.backward(retain_graph=True)
    once = [tensor.grad.clone() for tensor in inputs]
    loss.backward()
    for tensor, first in zip(inputs, once, strict=True):
        torch.testing.assert_close(tensor.grad, 2 * first)


def test_without_gradients_only_the_value_is_computed():
    inputs = operands()
    terms = bce_terms(TARGETS[1], None)
    with torch.no_grad():
        loss = fused(*inputs, POSITIVES, terms)
    assert not loss.requires_grad
    torch.testing.assert_close(loss, fused(*inputs, POSITIVES, terms).detach())


def test_nothing_of_the_size_of_the_scores_is_kept():
    """20 queries against 7 entities of 4 dimensions: 140 scores, a table of 28 numbers."""
    query = torch.randn(20, 4, requires_grad=True)
    entities = torch.randn(7, 4, requires_grad=True)
    loss = fused(query, entities, None, POSITIVES, bce_terms(TARGETS[1], None))
    node = loss.grad_fn
    kept = [*vars(node.gradients).values(), *vars(node.products).values()]
    sizes = {tensor.numel() for tensor in kept if isinstance(tensor, torch.Tensor)}
    assert sizes == {query.numel(), entities.numel()}


def test_gradients_are_given_away_once():
    """Nothing copies the table's gradient on its way to the table."""
    inputs = operands()
    loss = fused(*inputs, POSITIVES, bce_terms(TARGETS[1], None))
    place = loss.grad_fn.gradients.entities.data_ptr()
    loss.backward()
    assert inputs[1].grad.data_ptr() == place


@pytest.mark.parametrize("focus", FOCI)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_given_scores(focus, weights):
    chance = torch.Generator().manual_seed(5)
    scores = torch.randn(dense.B, dense.E, generator=chance, dtype=torch.double).requires_grad_()
    before = scores.detach().clone()
    positives = dataclasses.replace(POSITIVES, weights=weights)
    loss = FusedScores.apply(scores, positives, bce_terms(TARGETS[1], focus))
    expected = dense.bce(scores, positives, TARGETS[1], focus)
    dense.assert_same(loss, expected, (scores,))
    assert torch.equal(scores.detach(), before)  # the caller's scores are left alone


def test_five_entities_one_true_tail():
    """Case 1: at score 0 the gradient is σ - y: 0.5 - 0.92 and 0.5 - 0.02."""
    scores = torch.zeros(5, 1, dtype=torch.double)
    terms = bce_terms(Targets.smoothed(0.1, "auto", 5), None)
    terms_to_gradient_(scores, torch.tensor([3]), None, terms)
    expected = torch.tensor([0.48, 0.48, 0.48, -0.42, 0.48], dtype=torch.double)
    torch.testing.assert_close(scores.flatten(), expected)
