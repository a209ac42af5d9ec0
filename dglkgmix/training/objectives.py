"""Binary and softmax cross-entropy as sums of terms, with the options of a training bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor

from dglkgmix.config import TrainingConfig
from dglkgmix.kernels.one_to_n import (
    one_to_n_bce,
    one_to_n_bce_scores,
    one_to_n_ce,
    one_to_n_ce_scores,
)
from dglkgmix.losses.one_to_k import one_to_k_bce, one_to_k_ce, synthetic_bce
from dglkgmix.losses.pointwise import Focus, bce_terms
from dglkgmix.losses.softmax import Softmax
from dglkgmix.losses.targets import Targets, softmax_smoothing


@dataclass(frozen=True)
class Objective:
    """Sums of loss terms, scalars; their arguments are those of the functions that are bound.

    Attributes:
        of_products: 1-N, of queries, table, bias and positives.
        of_scores: 1-N, of scores (B, E) and positives.
        of_candidates: 1-K, of scores of true tails and of their negatives, and a mask.
        of_synthetic: of scores (S,) of synthetic samples' own tails; None where a sample needs its
            rivals, too.
    """

    of_products: Callable[..., Tensor]
    of_scores: Callable[..., Tensor]
    of_candidates: Callable[..., Tensor]
    of_synthetic: Callable[..., Tensor] | None = None


def objective(training: TrainingConfig[Any], focus: Focus | None, num_entities: int) -> Objective:
    """The loss that the options name, over |V| entities.

    Raises:
        ConfigError: smoothing or mass out of range, or a mass that this loss does not use.
    """
    smoothing, mass = training.label_smoothing, training.smoothing_mass
    if training.loss == "ce":
        softmax = Softmax(softmax_smoothing(smoothing, mass), num_entities, focus)
        return Objective(
            of_products=partial(one_to_n_ce, softmax=softmax),
            of_scores=partial(one_to_n_ce_scores, softmax=softmax),
            of_candidates=partial(one_to_k_ce, softmax=softmax),
        )
    terms = bce_terms(Targets.smoothed(smoothing, mass, num_entities), focus)
    return Objective(
        of_products=partial(one_to_n_bce, terms=terms),
        of_scores=partial(one_to_n_bce_scores, terms=terms),
        of_candidates=partial(one_to_k_bce, terms=terms),
        of_synthetic=partial(synthetic_bce, terms=terms),
    )
