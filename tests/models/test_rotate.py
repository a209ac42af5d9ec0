"""RotatE against complex numbers."""

import math

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models import rotate
from dglkgmix.models.rotate import RotatE


def test_scores_and_gradients_do_not_depend_on_blocks(monkeypatch):
    torch.manual_seed(0)
    decoder = RotatE(6, 6).double()
    head, angles, tails = (torch.randn(n, d).double() for n, d in ((3, 6), (3, 3), (7, 6)))

    def run():
        leaves = [x.clone().requires_grad_() for x in (head, angles, tails)]
        scores = decoder.score_all(decoder.query(*leaves[:2]), leaves[2])
        scores.square().sum().backward()
        return scores.detach(), *(leaf.grad for leaf in leaves)

    whole = run()
    monkeypatch.setattr(rotate, "_BLOCK", 40)  # 2 entities at once
    torch.testing.assert_close(whole, run())
    complexes = torch.complex(*head.chunk(2, 1)) * torch.exp(1j * angles)
    others = torch.complex(*tails.chunk(2, 1))
    expected = 9 - (complexes[:, None] - others).abs().sum(2)
    torch.testing.assert_close(whole[0], expected)


def test_the_gradient_at_distance_0_is_0():
    point = torch.zeros(1, 2, requires_grad=True)
    RotatE(2, 2).score_all(point, torch.zeros(1, 2)).sum().backward()
    assert torch.equal(point.grad, torch.zeros(1, 2))


def test_moduli_of_entities_and_relations():
    decoder = RotatE(4, 4)
    moduli = decoder.squared_moduli(torch.tensor([[3.0, 1.0, 4.0, 0.0]]))
    assert moduli.tolist() == [[25.0, 1.0]]
    assert decoder.squared_moduli(torch.tensor([[0.3, 2.0]])).tolist() == [[1.0, 1.0]]


def test_the_tables_start_within_the_margins_bounds():
    entities, relations = torch.empty(50, 8), torch.empty(10, 4)
    RotatE(8, 8, margin=6.0).start_tables(entities, relations)
    assert 1.9 < entities.abs().max() <= 2.0  # (6 + 2) / 4
    assert 2.5 < relations.abs().max() <= math.pi


def test_dimensions_that_do_not_fit():
    with pytest.raises(ConfigError, match="rotate needs an even number"):
        RotatE(3, 3)
