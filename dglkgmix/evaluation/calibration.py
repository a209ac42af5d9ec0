"""Calibration: the paper's over degree bins, and the standard kind over probability bins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from torch import Tensor

from dglkgmix.evaluation.metrics import bin_of
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.negatives import labelled_scores
from dglkgmix.evaluation.platt import Array, Platt, fit_platt, log_loss, sigmoid
from dglkgmix.evaluation.rank_table import RankTable

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph

PROBABILITY_BINS = 15


class Point(NamedTuple):
    """A bin of probabilities: their mean, the share of true triples in it, and its size."""

    probability: float
    share: float
    size: int


def degree_ece(table: RankTable, bins: DegreeBins) -> dict[str, float | None]:
    """The paper's expected calibration error over degree bins, and of each bin.

    acc is the mean Hits@10, conf the mean σ(score) of the true answers:
    ECE = Σ |B_m|/n · |acc(B_m) − conf(B_m)|. None for an empty bin, and where scores are missing.
    σ(score) is no probability for models trained with softmax, nor where scores are distances.
    """
    groups, count = bin_of(table, bins), len(bins.names)
    scores, size = table["score"].astype(np.float64), np.bincount(groups, minlength=count)
    if not len(table) or np.isnan(scores).any():
        return dict.fromkeys(("overall", *bins.names))
    gap: Array = (table["rank"] <= 10) - sigmoid(scores)
    sums = np.abs(np.bincount(groups, weights=gap, minlength=count))
    errors = [float(s / n) if n else None for s, n in zip(sums, size, strict=True)]
    return {"overall": float(sums.sum() / len(table))} | dict(zip(bins.names, errors, strict=True))


def equal_mass_bins(logits: Array) -> Array:
    """(N,) bins 0 … 14 of log odds, with about as many in each; equal ones share a bin.

    Not of probabilities: σ of equal numbers may differ in its last bit with their places.
    """
    below = np.searchsorted(np.sort(logits), logits)
    return below * PROBABILITY_BINS // max(1, len(logits))


def reliability(scores: Array, labels: Array, platt: Platt) -> list[Point]:
    """The reliability diagram: one point a non-empty bin."""
    logits = platt.logit(scores)
    groups, p = equal_mass_bins(logits), sigmoid(logits)
    masks = [groups == group for group in np.unique(groups)]
    return [Point(float(p[m].mean()), float(labels[m].mean()), int(m.sum())) for m in masks]


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
    gaps = np.bincount(equal_mass_bins(logits), weights=probabilities - y)
    return {
        "ece": float(np.abs(gaps).sum() / len(y)),
        "brier": float(((probabilities - y) ** 2).mean()),
        "log_loss": float(log_loss(logits, y).mean()),
    }


def fit_calibration(
    scorer: Scorer,
    kg: KnowledgeGraph,
    valid: RankTable,
    *,
    seed: int = 0,
    false_triples: Tensor | None = None,
) -> Platt | None:
    """Platt scaling from validation triples and false ones; None where either are missing.

    A sampled false triple is none of train and valid: the fit knows nothing of the test split.
    ``valid`` are the ranks of the validation split; the rest is as in :func:`assess_calibration`.
    """
    found = labelled_scores(scorer, kg, "valid", valid, seed=seed, false_triples=false_triples)
    if found.labels.all() or not found.labels.any():
        return None
    return fit_platt(found.scores, found.labels)


def assess_calibration(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    table: RankTable,
    *,
    platt: Platt,
    bins: DegreeBins,
    seed: int = 0,
    false_triples: Tensor | None = None,
) -> dict[str, Any]:
    """The ``calibration`` of an account; ``platt`` is what :func:`fit_calibration` found.

    ``false_triples`` are (N, 3) ids; None samples one for each query by ``seed``.

    Returns:
        ``scale`` and ``offset``; ``before`` and ``after`` scaling ``ece``, ``brier`` and
        ``log_loss``; the two again under ``bins.<name>``, with the number of ``triples``.
    """
    found = labelled_scores(scorer, kg, split, table, seed=seed, false_triples=false_triples)
    groups = bins.assign(found.degrees).numpy()

    def both(chosen: Array) -> dict[str, Any]:
        pair = found.scores[chosen], found.labels[chosen]
        return {"before": errors(*pair, Platt()), "after": errors(*pair, platt)}

    by_bin = {
        name: both(groups == i) | {"triples": int((groups == i).sum())}
        for i, name in enumerate(bins.names)
    }
    overall = both(np.ones(len(groups), dtype=bool))
    return {"scale": platt.scale, "offset": platt.offset} | overall | {"bins": by_bin}
