"""Every loss must be a finite scalar with the right gradient, and have tests of its own."""

import inspect

import pytest
import torch

from dglkgmix.kernels import one_to_n
from dglkgmix.kernels.one_to_n import (
    one_to_n_bce,
    one_to_n_bce_scores,
    one_to_n_ce,
    one_to_n_ce_scores,
)
from dglkgmix.kernels.table import Table
from dglkgmix.losses import one_to_k, penalties
from dglkgmix.losses.one_to_k import one_to_k_bce, one_to_k_ce, synthetic_bce
from dglkgmix.losses.penalties import l2, n3
from dglkgmix.losses.pointwise import Focus, bce_terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Offsets, Positives, Targets

B, E, D, K = 4, 9, 3, 5
POSITIVES = Positives(
    torch.tensor([0, 0, 1, 2, 3]),
    torch.tensor([1, 5, 0, 6, 8]),
    torch.tensor([1.0, 2.0, 1.0, 0.5, 3.0]),
)
OFFSETS = Offsets(torch.tensor([0, 3]), torch.tensor([1, 2]), torch.tensor([0.5, -1.0]))
MASK = torch.rand(B, K, generator=torch.Generator().manual_seed(1)) < 0.7
WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 1.0])
FOCI = {"": None, " focal": Focus(2.0)}


def shapes(*names):
    known = {
        "query": (B, D),
        "entities": (E, D),
        "bias": (E,),
        "scores": (B, E),
        "positive": (B,),
        "negatives": (B, K),
    }
    return tuple(known[name] for name in names)


def cases():
    """Loss by name, with the shapes of what it is a function of."""
    made = {
        "n3": (lambda x: n3(x.square(), torch.arange(B)), shapes("query")),
        "l2": (lambda x: l2(x.square(), torch.arange(B)), shapes("query")),
    }
    for suffix, focus in FOCI.items():
        terms = bce_terms(Targets.smoothed(0.1, "auto", E), focus)
        softmax = Softmax(0.1, E, focus)
        products, pairs = shapes("query", "entities", "bias"), shapes("positive", "negatives")
        made |= {
            f"one_to_n_bce{suffix}": (
                lambda q, e, b, t=terms: one_to_n_bce(q, Table(e), b, POSITIVES, t),
                products,
            ),
            f"one_to_n_bce_scores{suffix}": (
                lambda s, t=terms: one_to_n_bce_scores(s, POSITIVES, t),
                shapes("scores"),
            ),
            f"one_to_n_ce{suffix}": (
                lambda q, e, b, s=softmax: one_to_n_ce(
                    q, Table(e), b, POSITIVES, s, offsets=OFFSETS
                ),
                products,
            ),
            f"one_to_n_ce_scores{suffix}": (
                lambda x, s=softmax: one_to_n_ce_scores(x, POSITIVES, s, offsets=OFFSETS),
                shapes("scores"),
            ),
            f"one_to_k_bce{suffix}": (
                lambda p, n, t=terms: one_to_k_bce(p, n, MASK, t, weights=WEIGHTS),
                pairs,
            ),
            f"one_to_k_ce{suffix}": (
                lambda p, n, s=softmax: one_to_k_ce(p, n, MASK, s, weights=WEIGHTS),
                pairs,
            ),
            f"synthetic_bce{suffix}": (lambda s, t=terms: synthetic_bce(s, t), shapes("positive")),
        }
    return made


CASES = cases()


def inputs(name, dtype=torch.double, scale=1.0):
    chance = torch.Generator().manual_seed(0)
    return [
        (scale * torch.randn(shape, generator=chance, dtype=torch.double)).to(dtype)
        for shape in CASES[name][1]
    ]


def test_every_loss_is_here():
    public = {
        name
        for module in (one_to_k, one_to_n, penalties)
        for name, made in vars(module).items()
        if inspect.isfunction(made) and made.__module__ == module.__name__ and name[0] != "_"
    }
    assert {name.split()[0] for name in CASES} == public


@pytest.mark.parametrize("name", CASES)
class TestEveryLoss:
    def test_gradient(self, name):
        given = [tensor.requires_grad_() for tensor in inputs(name)]
        assert torch.autograd.gradcheck(CASES[name][0], given)

    def test_a_finite_scalar_in_float32(self, name):
        for scale in (1.0, 30.0):
            given = [tensor.requires_grad_() for tensor in inputs(name, torch.float, scale)]
            loss = CASES[name][0](*given)
            loss.backward()
            assert loss.shape == ()
            assert loss.dtype is torch.float
            assert torch.isfinite(loss)
            assert all(torch.isfinite(tensor.grad).all() for tensor in given)

    def test_float32_agrees_with_float64(self, name):
        loss = CASES[name][0]
        exact = loss(*inputs(name))
        torch.testing.assert_close(
            loss(*inputs(name, torch.float)).double(), exact, rtol=1e-5, atol=0
        )

    def test_what_is_given_stays_as_it_was(self, name):
        given, before = inputs(name), inputs(name)
        CASES[name][0](*(tensor.requires_grad_() for tensor in given)).backward()
        assert all(torch.equal(a, b) for a, b in zip(given, before, strict=True))
