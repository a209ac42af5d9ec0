"""Calibration: the paper's over degree bins, and the standard kind over probability bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dglkgmix.evaluation.metrics import bin_of
from dglkgmix.evaluation.platt import Platt, log_loss, sigmoid
from dglkgmix.evaluation.rank_table import RankTable

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins

Array = np.ndarray[Any, Any]
PROBABILITY_BINS = 15


def degree_ece(table: RankTable, bins: DegreeBins) -> dict[str, float | None]:
    """The paper's expected calibration error over degree bins, and of each bin.

    acc is the mean Hits@10, conf the mean σ(score) of the true answers:
    ECE = Σ |B_m|/n · |acc(B_m) − conf(B_m)|. None for an empty bin, and where scores are missing.
    σ(score) is no probability for models trained with softmax, nor for TransE.
    """
    groups, count = bin_of(table, bins), len(bins.names)
    scores, size = table["score"].astype(np.float64), np.bincount(groups, minlength=count)
    if not len(table) or np.isnan(scores).any():
        return dict.fromkeys(("overall", *bins.names))
    gap: Array = (table["rank"] <= 10) - sigmoid(scores)
    sums = np.abs(np.bincount(groups, weights=gap, minlength=count))
    errors = [float(s / n) if n else None for s, n in zip(sums, size, strict=True)]
    return {"overall": float(sums.sum() / len(table))} | dict(zip(bins.names, errors, strict=True))


def probability_bins(probabilities: Array) -> Array:
    """(N,) equal-mass bins 0 … 14 of probabilities; equal ones fall into the same bin."""
    below = np.searchsorted(np.sort(probabilities), probabilities)
    return below * PROBABILITY_BINS // max(1, len(probabilities))


def reliability(scores: Array, labels: Array, platt: Platt) -> list[dict[str, float | int]]:
    """The reliability diagram: one point a non-empty bin, with confidence, accuracy and count."""
    probabilities = platt.probability(scores)
    groups = probability_bins(probabilities)
    points = []
    for group in np.unique(groups):
        chosen = groups == group
        confidence, accuracy = probabilities[chosen].mean(), labels[chosen].mean()
        points.append(
            {
                "confidence": float(confidence),
                "accuracy": float(accuracy),
                "count": int(chosen.sum()),
            }
        )
    return points


def errors(scores: Array, labels: Array, platt: Platt) -> dict[str, float | None]:
    """Of scores read through ``platt``: ece (15 equal-mass bins), brier and log_loss.

    Args:
        scores: (N,) scores of true and false triples; None for all three where N is 0.
        labels: (N,) which are true.
        platt: the scaling; ``Platt()`` is the plain sigmoid.
    """
    if not len(scores):
        return dict.fromkeys(("ece", "brier", "log_loss"))
    logits, y = platt.logit(scores), np.asarray(labels, dtype=np.float64)
    probabilities = sigmoid(logits)
    gaps = np.bincount(probability_bins(probabilities), weights=probabilities - y)
    return {
        "ece": float(np.abs(gaps).sum() / len(y)),
        "brier": float(((probabilities - y) ** 2).mean()),
        "log_loss": float(log_loss(logits, y).mean()),
    }


def report(
    scores: Array, labels: Array, platt: Platt, groups: Array, bins: DegreeBins
) -> dict[str, Any]:
    """The calibration part of an account.

    Args:
        scores: (N,) scores of true and false triples.
        labels: (N,) which are true.
        platt: the scaling fitted on validation.
        groups: (N,) degree bin of each triple.
        bins: their names.

    Returns:
        ``scale`` and ``offset``; ``before`` and ``after`` scaling ``ece``, ``brier`` and
        ``log_loss``; the two again under ``bins.<name>``, with the number of ``triples``.
    """
    found = {"scale": platt.scale, "offset": platt.offset} | _both(scores, labels, platt)
    by_bin = {}
    for index, name in enumerate(bins.names):
        chosen = groups == index
        by_bin[name] = _both(scores[chosen], labels[chosen], platt) | {"triples": int(chosen.sum())}
    return found | {"bins": by_bin}


def _both(scores: Array, labels: Array, platt: Platt) -> dict[str, Any]:
    return {"before": errors(scores, labels, Platt()), "after": errors(scores, labels, platt)}
