"""The losses by their definitions: dense targets, plain formulas, one step after the other."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from dglkgmix.losses.pointwise import Focus
from dglkgmix.losses.targets import Positives

B, E, D = 3, 7, 4
POSITIVES = Positives(torch.tensor([0, 0, 1, 2]), torch.tensor([1, 5, 0, 6]))
WEIGHTS = torch.tensor([1.0, 2.0, 3.0, 0.5], dtype=torch.double)
FOCI = [None, Focus(2.0), Focus(0.5), Focus(2.0, detach=True)]


def operands(*, scale=1.0):
    """Query (B, D), entities (E, D) and bias (E,), float64, with gradients."""
    chance = torch.Generator().manual_seed(1)
    made = [
        scale * torch.randn(shape, generator=chance, dtype=torch.double)
        for shape in ((B, D), (E, D), (E,))
    ]
    query, entities, bias = (tensor.requires_grad_() for tensor in made)
    return query, entities, bias


def factor(probability, focus):
    if focus is None:
        return torch.ones_like(probability)
    power = (1 - probability) ** focus.gamma
    return power.detach() if focus.detach else power


def bce(scores, positives, targets, focus=None):
    hot = torch.zeros_like(scores, dtype=torch.bool)
    hot[positives.rows, positives.tails] = True
    dense = torch.full_like(scores, targets.negative).masked_fill(hot, targets.positive)
    weights = torch.ones_like(scores)
    if positives.weights is not None:
        weights[positives.rows, positives.tails] = positives.weights
    terms = binary_cross_entropy_with_logits(scores, dense, reduction="none")
    p = torch.sigmoid(scores)
    return (weights * factor(torch.where(hot, p, 1 - p), focus) * terms).sum()


def ce(scores, positives, smoothing, focus=None):
    total = torch.zeros((), dtype=scores.dtype)
    for number, (row, tail) in enumerate(
        zip(positives.rows.tolist(), positives.tails.tolist(), strict=True)
    ):
        target = torch.full_like(scores[row], smoothing / scores.shape[1])
        target[tail] += 1 - smoothing
        logs = scores[row].log_softmax(0)
        term = -(target * logs).sum() * factor(logs[tail].exp(), focus)
        total = total + term * (1 if positives.weights is None else positives.weights[number])
    return total


def gradients(loss, of):
    return torch.autograd.grad(loss, of, retain_graph=True)


def assert_same(loss, expected, of):
    """Value and gradients; of three times the value, as a kernel may leave a factor out."""
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(3 * loss, of), gradients(3 * expected, of))
