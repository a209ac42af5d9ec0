"""Binary cross-entropy with logits, term by term: plain and focal.

A term with target y at score s is softplus(s) - y s. Nearly all terms of a 1-N batch are
negatives, so the terms of a whole block are computed as negatives first, in place, and the few
positives are put right afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from dglkgmix.losses.targets import Targets

# (1 + e^20)^4 is far below float32's largest number.
_LARGEST_FOR_PRODUCTS = 20.0


@dataclass(frozen=True)
class Focus:
    """The focal factor (1 - p_t)^γ.

    Attributes:
        gamma: γ, 0 or more.
        detach: whether the factor is a constant weight, without a gradient of its own.
    """

    gamma: float
    detach: bool = False


class Terms:
    """Plain binary cross-entropy."""

    def __init__(self, targets: Targets) -> None:
        self.targets = targets

    def positive(self, scores: Tensor) -> Tensor:
        """Terms of true triples at scores (...), same shape."""
        return softplus(scores) - self.targets.positive * scores

    def negative(self, scores: Tensor) -> Tensor:
        """Terms of all other triples at scores (...), same shape."""
        return softplus(scores) - self.targets.negative * scores

    def negatives_(self, scores: Tensor) -> Tensor:
        """Sum of ``negative(scores)`` as a scalar; its gradient takes the place of ``scores``."""
        share = self.targets.negative
        linear = scores.sum(dtype=_wide(scores)) * share if share else 0.0
        total = softplus_sum_to_sigmoid_(scores) - linear
        if share:
            scores.sub_(share)
        return total

    def correction(self, scores: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """What positives at scores (P,) add to a sum that counted them as negatives.

        Returns:
            the sum of weight * positive - negative, a scalar, and its gradient (P,).
        """
        with torch.enable_grad():
            leaf = scores.detach().to(_wide(scores)).requires_grad_()
            terms = self.positive(leaf)
            if weights is not None:
                terms = terms * weights
            total = (terms - self.negative(leaf)).sum()
            (gradient,) = torch.autograd.grad(total, leaf)
        return total.detach(), gradient


class FocalTerms(Terms):
    """Each term times (1 - p_t)^γ; p_t is σ(s) for a true triple, 1 - σ(s) for any other."""

    def __init__(self, targets: Targets, focus: Focus) -> None:
        super().__init__(targets)
        self.focus = focus

    def positive(self, scores: Tensor) -> Tensor:
        """Focal terms of true triples at scores (...), same shape."""
        return self._factor(scores) * super().positive(scores)

    def negative(self, scores: Tensor) -> Tensor:
        """Focal terms of all other triples at scores (...), same shape."""
        return self._factor(-scores) * super().negative(scores)

    def _factor(self, scores: Tensor) -> Tensor:
        # (1 - σ(s))^γ, as a power of e: smooth where σ(s) rounds to 1.
        factor = torch.exp(-self.focus.gamma * softplus(scores))
        return factor.detach() if self.focus.detach else factor

    def negatives_(self, scores: Tensor) -> Tensor:
        """Sum of ``negative(scores)`` as a scalar; its gradient takes the place of ``scores``.

        With p = σ(s) and l the plain term, the term is p^γ l and its gradient
        p^γ (p - y + γ (1 - p) l), without the last part where the factor is detached.
        """
        gamma, share = self.focus.gamma, self.targets.negative
        terms = softplus(scores)
        log_p = scores - terms
        terms.sub_(scores, alpha=share)
        factor = torch.exp(gamma * log_p)
        p = log_p.exp_()
        torch.sub(p, share, out=scores)
        if not self.focus.detach:
            scores.addcmul_(1 - p, terms, value=gamma)
        scores.mul_(factor)
        return terms.mul_(factor).sum(dtype=_wide(scores))


def bce_terms(targets: Targets, focus: Focus | None) -> Terms:
    """The terms for these targets, focal where there is a focus."""
    return Terms(targets) if focus is None else FocalTerms(targets, focus)


def softplus_sum_to_sigmoid_(scores: Tensor) -> Tensor:
    """Σ softplus(s) as a scalar; σ(s) takes the place of ``scores``, any shape, contiguous.

    On the CPU Σ log(1 + x) of x = exp(s) needs a logarithm for only every fourth number, as
    log(1 + a) + log(1 + b) = log(1 + (a + b + ab)): no cancellation, as all are positive. Large
    scores, whose products would overflow, take the plain way. One exponential serves both but in
    types narrower than float32, where x / (x + 1) would round twice more.
    """
    plain = scores.is_cuda or scores.numel() == 0
    if plain or not bool(scores.amax() <= _LARGEST_FOR_PRODUCTS):
        total = softplus(scores).sum(dtype=_wide(scores))
        scores.sigmoid_()
    elif scores.dtype == _wide(scores):
        odds = scores.exp_()
        total = _sum_log1p(odds.view(-1))
        odds.div_(odds + 1)
    else:
        total = _sum_log1p(scores.exp().view(-1))
        scores.sigmoid_()
    return total


def _sum_log1p(odds: Tensor) -> Tensor:
    """Σ log(1 + x) over odds (N,), all positive."""
    quarter = len(odds) // 4
    first, second, third, fourth = odds[: 4 * quarter].view(4, quarter)
    left = torch.addcmul(first, first, second).add_(second)
    right = torch.addcmul(third, third, fourth).add_(fourth)
    product = torch.addcmul(left, left, right).add_(right)
    wide = _wide(odds)
    return product.log1p_().sum(dtype=wide) + odds[4 * quarter :].log1p().sum(dtype=wide)


def _wide(values: Tensor) -> torch.dtype:
    """What sums are in: float32, or wider."""
    return torch.promote_types(values.dtype, torch.float32)
