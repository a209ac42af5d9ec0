"""Every scorer: any slice and any candidates give the scores of the whole, in float32."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.config.classes import DECODERS
from dglkgmix.evaluation.model_scorer import ModelScorer, Scorer, evaluating
from dglkgmix.evaluation.popularity import PopularityScorer
from tests.evaluation.stand_ins import model


@pytest.fixture(params=[*DECODERS, "popularity"])
def scorer(request, toy) -> Scorer:
    if request.param == "popularity":
        return PopularityScorer(toy)
    return ModelScorer(model(toy, request.param))


def test_slices_and_candidates_agree_with_the_whole(scorer):
    assert scorer.num_entities == 5
    query = scorer.query(torch.tensor([0, 3, 3]), torch.tensor([0, 5, 1]))
    whole = scorer.scores(query, 0, 5)
    assert whole.shape == (3, 5)
    assert whole.dtype == torch.float32
    parts = torch.cat([scorer.scores(query, a, b) for a, b in ((0, 1), (1, 4), (4, 5))], 1)
    assert torch.allclose(parts, whole, atol=1e-6)
    candidates = torch.tensor([[4, 0], [2, 2], [1, 4]])
    gathered = scorer.gather(query, candidates)
    assert torch.allclose(gathered, whole.gather(1, candidates), atol=1e-6)


def test_one_query_alone_scores_as_among_others(scorer):
    """Case 11, and no dimension is lost on the way."""
    heads, relations = torch.tensor([0, 3, 2, 1]), torch.tensor([0, 5, 1, 2])
    together = scorer.scores(scorer.query(heads, relations), 0, 5)
    alone = [
        scorer.scores(scorer.query(heads[i : i + 1], relations[i : i + 1]), 0, 5) for i in range(4)
    ]
    assert torch.allclose(torch.cat(alone), together, atol=1e-6)


def test_the_model_is_left_in_the_mode_it_was_in(toy):
    built = model(toy, "conve").train()
    built.decoder.eval()
    modes = [module.training for module in built.modules()]
    scorer = ModelScorer(built)
    query = scorer.query(torch.tensor([0]), torch.tensor([1]))
    scorer.scores(query, 0, 5)
    scorer.gather(query, torch.tensor([[1]]))
    assert [module.training for module in built.modules()] == modes


def test_inside_it_is_in_evaluation_mode_even_after_an_error(toy):
    built = model(toy, "conve").train()
    try:
        with evaluating(built):
            assert not any(module.training for module in built.modules())
            raise KeyError
    except KeyError:
        pass
    assert all(module.training for module in built.modules())


def test_dropout_is_off_and_batch_statistics_stay(toy):
    built = model(toy, "conve").train()
    before = {name: value.clone() for name, value in built.state_dict().items()}
    scorer = ModelScorer(built)
    heads, relations = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2])
    first, second = (scorer.scores(scorer.query(heads, relations), 0, 5) for _ in range(2))
    assert torch.equal(first, second)
    assert all(torch.equal(value, before[name]) for name, value in built.state_dict().items())


def test_the_bias_belongs_to_the_scores(toy):
    built = model(toy)
    scorer = ModelScorer(built)
    query = scorer.query(torch.tensor([0]), torch.tensor([0]))
    with_bias = scorer.scores(query, 2, 5)
    plain = query @ scorer.vectors.entities[2:5].T
    assert torch.allclose(with_bias - plain, built.bias[None, 2:5], atol=1e-6)
