"""Losses of 1-N batches against their definitions."""

import dataclasses

import pytest
import torch

from dglkgmix.kernels import products
from dglkgmix.kernels.one_to_n import (
    one_to_n_bce_scores,
    one_to_n_ce,
    one_to_n_ce_scores,
)
from dglkgmix.kernels.table import Table
from dglkgmix.losses.pointwise import bce_terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Offsets, Targets
from dglkgmix.sampling.rivals import Rivals
from tests.kernels import dense
from tests.kernels.dense import FOCI, POSITIVES, WEIGHTS, operands

TARGETS = Targets.smoothed(0.1, "auto", dense.E)
OFFSETS = Offsets(torch.tensor([0, 1, 2]), torch.tensor([1, 3, 2]), torch.tensor([0.5, 1.0, 2.0]))


def scores_of(inputs):
    query, entities, bias = inputs
    return query @ entities.T + bias


def tabled(inputs):
    query, entities, bias = inputs
    return query, Table(entities), bias


def adjusted(scores):
    index = (OFFSETS.rows, OFFSETS.tails)
    return scores.index_put(index, OFFSETS.values.double(), accumulate=True)


@pytest.mark.parametrize("focus", FOCI)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("offsets", [None, OFFSETS])
def test_softmax(monkeypatch, focus, weights, smoothing, offsets):
    monkeypatch.setattr(products, "CPU_BLOCK", 6)
    inputs = operands()
    positives = dataclasses.replace(POSITIVES, weights=weights)
    softmax = Softmax(smoothing, dense.E, focus)
    for loss in (
        one_to_n_ce(*tabled(inputs), positives, softmax, offsets=offsets),
        one_to_n_ce_scores(scores_of(inputs), positives, softmax, offsets=offsets),
    ):
        plain = scores_of(inputs) if offsets is None else adjusted(scores_of(inputs))
        dense.assert_same(loss, dense.ce(plain, positives, smoothing, focus), inputs)


@pytest.mark.parametrize("focus", FOCI)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
def test_rivals_stand_for_all(focus, smoothing, biased):
    """The tails 0, 1, 5 and 6 once, 3 for the three others; smoothing sums over all seven."""
    query, entities, bias = operands()
    counts = torch.tensor([1, 1, 3, 1, 1], dtype=torch.double)
    rivals = Rivals(torch.tensor([0, 1, 3, 5, 6]), counts.log())
    positives = dataclasses.replace(POSITIVES, weights=WEIGHTS)
    softmax = Softmax(smoothing, dense.E, focus)
    scores = query @ entities.T + (bias if biased else 0)
    partition = (scores[:, rivals.ids].exp() * counts).sum(1).log()[positives.rows]
    picked = scores[positives.rows, positives.tails]
    used = [query, entities, *([bias] if biased else [])]

    def expected(total):
        terms = softmax.terms(partition, picked, total[positives.rows], 7, weights=WEIGHTS)
        return terms.sum()

    given = (bias if biased else None, positives, softmax)
    loss = one_to_n_ce(query, Table(entities), *given, rivals=rivals)
    dense.assert_same(loss, expected(scores.sum(1)), used)
    loss = one_to_n_ce_scores(scores[:, rivals.ids], positives, softmax, rivals=rivals)
    dense.assert_same(loss, expected(scores[:, rivals.ids] @ counts), used)


def test_low_precision_scores_are_summed_in_float():
    scores = torch.randn(dense.B, dense.E).bfloat16()
    for loss in (
        one_to_n_bce_scores(scores, POSITIVES, bce_terms(TARGETS, None)),
        one_to_n_ce_scores(scores, POSITIVES, Softmax(0.1, dense.E)),
    ):
        assert loss.dtype is torch.float
