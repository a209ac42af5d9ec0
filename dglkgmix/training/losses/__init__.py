"""Losses: what a batch's scores cost, and the gradients of that."""

from __future__ import annotations

from dglkgmix.training.losses.candidates import candidate_scores
from dglkgmix.training.losses.fused import Positives
from dglkgmix.training.losses.one_to_k import one_to_k_bce, one_to_k_ce, synthetic_bce
from dglkgmix.training.losses.one_to_n import (
    one_to_n_bce,
    one_to_n_bce_scores,
    one_to_n_ce,
    one_to_n_ce_scores,
)
from dglkgmix.training.losses.partition import Offsets
from dglkgmix.training.losses.penalties import l2, n3
from dglkgmix.training.losses.pointwise import Focus, Terms, bce_terms
from dglkgmix.training.losses.relations import relation_prediction
from dglkgmix.training.losses.softmax import Softmax
from dglkgmix.training.losses.table import Table
from dglkgmix.training.losses.targets import Targets, reduced, softmax_smoothing

__all__ = [
    "Focus",
    "Offsets",
    "Positives",
    "Softmax",
    "Table",
    "Targets",
    "Terms",
    "bce_terms",
    "candidate_scores",
    "l2",
    "n3",
    "one_to_k_bce",
    "one_to_k_ce",
    "one_to_n_bce",
    "one_to_n_bce_scores",
    "one_to_n_ce",
    "one_to_n_ce_scores",
    "reduced",
    "relation_prediction",
    "softmax_smoothing",
    "synthetic_bce",
]
