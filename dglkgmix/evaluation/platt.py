"""Platt scaling: probabilities σ(a·s + b) of scores, a > 0 (method, Calibration)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dglkgmix.errors import DataError

Array = np.ndarray[Any, Any]
# Bounds of the slope on standardised scores. Below: scores that rank false triples above true ones
# have no fit with a > 0. Above: scores that separate them perfectly have no finite fit.
SLOPE = (1e-4, 1e3)


@dataclass(frozen=True)
class Platt:
    """``probability = σ(scale · score + offset)``; the default is the plain sigmoid."""

    scale: float = 1.0
    offset: float = 0.0

    def logit(self, scores: Array) -> Array:
        """(N,) log odds, float64."""
        logits: Array = self.scale * np.asarray(scores, dtype=np.float64) + self.offset
        return logits

    def probability(self, scores: Array) -> Array:
        """(N,) probabilities, float64."""
        return sigmoid(self.logit(scores))


def sigmoid(logits: Array) -> Array:
    """σ of any finite number, without overflow."""
    tail = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits >= 0, 1 / (1 + tail), tail / (1 + tail)))


def log_loss(logits: Array, labels: Array) -> Array:
    """(N,) −log p of each label, from log odds: finite wherever they are."""
    losses: Array = np.maximum(logits, 0) - labels * logits + np.log1p(np.exp(-np.abs(logits)))
    return losses


def fit_platt(scores: Array, labels: Array) -> Platt:
    """Fit by maximum likelihood.

    Args:
        scores: (N,) finite scores.
        labels: (N,) true or false, both present.

    Raises:
        DataError: only true or only false triples.
    """
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if not 0 < y.sum() < len(y):
        raise DataError("calibration needs scores of both true and false triples")
    center, spread = float(x.mean()), float(x.std()) or 1.0
    x = (x - center) / spread
    slope, offset = _newton(x, y, slope=None)
    if not SLOPE[0] <= slope <= SLOPE[1]:
        slope, offset = _newton(x, y, slope=float(np.clip(slope, *SLOPE)))
    return Platt(slope / spread, offset - slope * center / spread)


def _newton(x: Array, y: Array, slope: float | None) -> tuple[float, float]:
    """Minimise the mean log loss by damped Newton steps; with ``slope`` given, over the offset."""
    weights = np.array([slope if slope is not None else 0.0, np.log(y.mean() / (1 - y.mean()))])
    inputs = np.stack([x, np.ones_like(x)], axis=1)
    free = slice(0 if slope is None else 1, 2)
    loss = log_loss(inputs @ weights, y).mean()
    for _ in range(200):
        p = sigmoid(inputs @ weights)
        gradient = (inputs.T @ (p - y) / len(y))[free]
        curvature = (inputs.T @ (inputs * (p * (1 - p))[:, None]) / len(y))[free, free]
        step = np.zeros(2)
        ridge = curvature + 1e-14 * np.eye(len(gradient))
        step[free] = np.linalg.lstsq(ridge, gradient, rcond=None)[0]
        weights, improved = _line_search(inputs, y, weights, step, loss)
        if loss - improved <= 1e-15 * max(1.0, loss) or abs(weights[0]) > 2 * SLOPE[1]:
            break
        loss = improved
    return float(weights[0]), float(weights[1])


def _line_search(
    inputs: Array, y: Array, weights: Array, step: Array, loss: float
) -> tuple[Array, float]:
    for halvings in range(40):
        trial = weights - step * 0.5**halvings
        found = float(log_loss(inputs @ trial, y).mean())
        if found <= loss:
            return trial, found
    return weights, loss
