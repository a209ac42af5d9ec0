"""Platt scaling: probabilities σ(a·s + b) of scores, a > 0 (docs/numbers.md, Calibration)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

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
    # Not SciPy's, whose import takes longer than a prediction.
    return torch.sigmoid(torch.as_tensor(logits, dtype=torch.float64)).numpy()


def log_loss(logits: Array, labels: Array) -> Array:
    """(N,) −log p of each label, 0 or 1, from log odds: finite wherever they are."""
    return np.asarray(np.logaddexp(0, (1 - 2 * labels) * logits))


def fit_platt(scores: Array, labels: Array) -> Platt:
    """Fit by maximum likelihood, with a slope on standardised scores within ``SLOPE``.

    Args:
        scores: (N,) finite scores.
        labels: (N,) true or false, both present.

    Raises:
        DataError: only true or only false triples.
    """
    from scipy.optimize import minimize

    x, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if not 0 < y.sum() < len(y):
        raise DataError("calibration needs scores of both true and false triples")
    center, spread = float(x.mean()), float(x.std()) or 1.0
    x = (x - center) / spread

    def loss(weights: Array) -> tuple[float, Array]:
        logits = weights[0] * x + weights[1]
        error = sigmoid(logits) - y
        return float(log_loss(logits, y).mean()), np.array([(error * x).mean(), error.mean()])

    found = minimize(
        loss,
        [1.0, np.log(y.mean() / (1 - y.mean()))],
        jac=True,
        method="L-BFGS-B",
        bounds=[SLOPE, (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000},
    )
    slope, offset = found.x.tolist()
    return Platt(slope / spread, offset - slope * center / spread)
