from __future__ import annotations

import torch

from dglkgmix.evaluation.model_scorer import ModelScorer, evaluating
from tests.evaluation.test_scorer import model


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


def test_scores_carry_no_gradient(toy):
    scorer = ModelScorer(model(toy))
    assert not scorer.scores(scorer.query(torch.tensor([0]), torch.tensor([0])), 0, 5).requires_grad
