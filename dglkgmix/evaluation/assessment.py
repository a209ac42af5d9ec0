"""The calibration of a model in two steps: fit on validation, then look at any split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from dglkgmix.evaluation.calibration import report
from dglkgmix.evaluation.negatives import labelled_scores
from dglkgmix.evaluation.platt import Platt, fit_platt
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.scorer import Scorer

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph


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

    Args:
        scorer: the model.
        kg: its graph.
        valid: ranks of its validation split.
        seed: of one sampled false triple for each query.
        false_triples: (N, 3) ids of false triples to use in their place.
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
    """The ``calibration`` of an account (:func:`dglkgmix.evaluation.calibration.report`).

    Args:
        scorer: the model.
        kg: its graph.
        split: ``valid`` or ``test``.
        table: the ranks of that split.
        platt: what :func:`fit_calibration` found.
        bins: degree bins.
        seed: of one sampled false triple for each query.
        false_triples: (N, 3) ids of false triples to use in their place.
    """
    found = labelled_scores(scorer, kg, split, table, seed=seed, false_triples=false_triples)
    groups = bins.assign(found.degrees).numpy()
    return report(found.scores, found.labels, platt, groups, bins)
