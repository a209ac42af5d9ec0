"""The cheaper way to the scores of candidates."""

import dataclasses

import pytest
import torch

from dglkgmix.kernels import candidates
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.scoring import TableVectors, scores_of_candidates
from tests.kernels import dense
from tests.settings import settled_model

CANDIDATES = torch.randint(20, (6, 5), generator=torch.Generator().manual_seed(0))


def build(graph, decoder, *, bias):
    model = LinkPredictor.build(settled_model(decoder, 8, bias=bias), graph, seed=0)
    if model.bias is not None:
        torch.nn.init.normal_(model.bias, generator=torch.Generator().manual_seed(1))
    return model.eval()


@pytest.mark.parametrize("decoder", ["distmult", "complex", "transe"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("advantage", [0, 1000])
def test_both_ways_are_the_models_scores(graph, monkeypatch, decoder, bias, advantage):
    monkeypatch.setattr(candidates, "_ADVANTAGE", advantage)
    model = build(graph, decoder, bias=bias)
    vectors = TableVectors.of(model.encode())
    query = model.query(vectors, torch.arange(6), torch.tensor([0, 1, 2, 3, 0, 1]))
    for with_bias in (True, False):
        scores = scores_of_candidates(model, vectors, query, CANDIDATES, with_bias=with_bias)
        expected = model.score(vectors, query, CANDIDATES, with_bias)
        torch.testing.assert_close(scores, expected)
        upstream = torch.randn(6, 5, generator=torch.Generator().manual_seed(2))
        used = [model.encoder.entity_table, *([model.bias] if bias and with_bias else [])]
        dense.assert_same((scores * upstream).sum(), (expected * upstream).sum(), used)


@pytest.mark.parametrize("advantage", [0, 1000])
def test_entities_in_another_order(graph, monkeypatch, advantage):
    """Where an encoder gave vectors of some entities only, candidates are found by position."""
    monkeypatch.setattr(candidates, "_ADVANTAGE", advantage)
    model = build(graph, "distmult", bias=True)
    vectors = model.encode()
    order = torch.randperm(20, generator=torch.Generator().manual_seed(3))
    position = torch.empty(20, dtype=torch.long)
    position[order] = torch.arange(20)
    shuffled = dataclasses.replace(vectors, entities=vectors.entities[order], position=position)
    shuffled = TableVectors.of(shuffled)
    query = model.query(vectors, torch.arange(6), torch.zeros(6, dtype=torch.long))
    scores = scores_of_candidates(model, shuffled, query, CANDIDATES, with_bias=True)
    torch.testing.assert_close(scores, model.score(vectors, query, CANDIDATES))
