"""Binary cross-entropy term by term."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from dglkgmix.losses.pointwise import (
    FocalTerms,
    Focus,
    bce_terms,
    softplus_sum_to_sigmoid_,
)
from dglkgmix.losses.targets import Targets

TARGETS = Targets(0.92, 0.02)
SCORES = torch.tensor([-30.0, -2.0, 0.0, 0.5, 3.0, 40.0], dtype=torch.double)
FOCI = [None, Focus(2.0), Focus(0.5), Focus(0.0), Focus(1.0, detach=True)]


def by_definition(scores: torch.Tensor, focus: Focus | None, true: bool) -> torch.Tensor:
    target = torch.full_like(scores, TARGETS.positive if true else TARGETS.negative)
    terms = binary_cross_entropy_with_logits(scores, target, reduction="none")
    if focus is None:
        return terms
    p = torch.sigmoid(scores)
    factor = (1 - (p if true else 1 - p)) ** focus.gamma
    return terms * (factor.detach() if focus.detach else factor)


@pytest.mark.parametrize("focus", FOCI)
@pytest.mark.parametrize("true", [True, False])
def test_terms_and_gradients_are_the_definition(focus: Focus | None, true: bool) -> None:
    scores = SCORES[1:-1].clone().requires_grad_()
    terms = bce_terms(TARGETS, focus)
    mine = (terms.positive if true else terms.negative)(scores)
    expected = by_definition(scores, focus, true)
    torch.testing.assert_close(mine, expected)
    gradients = [torch.autograd.grad(x.sum(), scores)[0] for x in (mine, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("focus", FOCI)
@pytest.mark.parametrize("targets", [TARGETS, Targets()])
def test_negatives_in_place(focus: Focus | None, targets: Targets) -> None:
    scores = SCORES.clone().requires_grad_()
    terms = bce_terms(targets, focus)
    total = terms.negative(scores).sum()
    (gradient,) = torch.autograd.grad(total, scores)
    work = SCORES.clone()
    torch.testing.assert_close(terms.negatives_(work), total.detach())
    torch.testing.assert_close(work, gradient)


@pytest.mark.parametrize("focus", FOCI)
def test_corrections_replace_negatives_by_weighted_positives(focus: Focus | None) -> None:
    weights = torch.arange(1.0, 7.0, dtype=torch.double)
    terms = bce_terms(TARGETS, focus)
    for given in (weights, None):
        scores = SCORES.clone().requires_grad_()
        factor = 1.0 if given is None else given
        expected = (factor * terms.positive(scores) - terms.negative(scores)).sum()
        (gradient,) = torch.autograd.grad(expected, scores)
        total, mine = terms.correction(SCORES, given)
        torch.testing.assert_close(total, expected.detach())
        torch.testing.assert_close(mine, gradient)
        assert not total.requires_grad


@pytest.mark.parametrize("focus", [None, Focus(2.0)])
def test_narrow_scores_are_near(focus: Focus | None) -> None:
    """bfloat16 has a precision of 2⁻⁸: sums in float32 are nearer than that."""
    terms, scores = bce_terms(TARGETS, focus), SCORES.bfloat16().repeat(2000)
    exact, work = scores.double(), scores.clone()
    total = terms.negatives_(work)
    wide = exact.clone()
    torch.testing.assert_close(total.double(), terms.negatives_(wide), rtol=2**-9, atol=0)
    torch.testing.assert_close(work.double(), wide, rtol=2**-6, atol=2**-9)
    torch.testing.assert_close(
        terms.correction(scores, None), terms.correction(scores.float(), None), rtol=0, atol=0
    )


@pytest.mark.parametrize("focus", [Focus(0.5), Focus(3.0)])
def test_sure_scores_have_finite_gradients(focus: Focus) -> None:
    scores = torch.tensor([-200.0, 200.0], requires_grad=True)
    terms = FocalTerms(TARGETS, focus)
    (terms.positive(scores) + terms.negative(scores)).sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(terms.negatives_(scores.detach().clone()))


class TestSoftplusAndSigmoid:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 11, 1000])
    @pytest.mark.parametrize("shift", [-40.0, -5.0, 0.0, 12.0, 60.0])
    def test_against_double(self, size: int, shift: float) -> None:
        """Within float32's own precision, for scores on both sides of the limit."""
        chance = torch.Generator().manual_seed(size)
        scores = shift + 4 * torch.randn(size, generator=chance)
        exact = scores.double()
        work = scores.clone()
        total = softplus_sum_to_sigmoid_(work)
        assert float(total) == pytest.approx(float(softplus(exact).sum()), rel=1e-6)
        torch.testing.assert_close(work.double(), torch.sigmoid(exact), rtol=1e-6, atol=0.0)

    def test_a_matrix(self) -> None:
        scores = torch.linspace(-3, 3, 15).view(5, 3)
        work = scores.clone()
        assert float(softplus_sum_to_sigmoid_(work)) == pytest.approx(float(softplus(scores).sum()))
        torch.testing.assert_close(work, torch.sigmoid(scores))

    @pytest.mark.parametrize("shift", [-12.0, 0.0, 30.0])
    def test_narrow_scores_have_a_wide_sum(self, shift: float) -> None:
        """Sigmoids within 2⁻⁸; a sum in bfloat16 would stop growing at 2⁸ times a term."""
        scores = (shift + torch.randn(9999, generator=torch.Generator().manual_seed(0))).bfloat16()
        exact, work = scores.double(), scores.clone()
        total = softplus_sum_to_sigmoid_(work)
        assert total.dtype is torch.float
        assert float(total) == pytest.approx(float(softplus(exact).sum()), rel=1e-3)
        torch.testing.assert_close(work.double(), torch.sigmoid(exact), rtol=2**-8, atol=0.0)

    def test_of_no_scores(self) -> None:
        assert float(softplus_sum_to_sigmoid_(torch.empty(0))) == 0

    @pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
    def test_numbers_that_are_none_show_in_the_sum(self, wrong: float) -> None:
        scores = torch.tensor([0.0, wrong, 1.0, 2.0, 3.0])
        assert not torch.isfinite(softplus_sum_to_sigmoid_(scores))
