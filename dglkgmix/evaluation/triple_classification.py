"""Triple classification: are given triples true or false (Socher et al., 2013)?

A triple's score is the mean over both of its queries. It is called true from the threshold of its
relation up, which is the one with the greatest accuracy on validation triples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.negatives import draw_negatives, score_triples
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.shortlist import Array

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


def classify_triples(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    false: Tensor,
    valid_false: Tensor | None = None,
    *,
    seed: int = 0,
) -> dict[str, Any] | None:
    """How well the triples of ``split`` and false ones are told apart.

    ``false`` are (N, 3) ids of the false triples, ``valid_false`` of those for the thresholds; None
    draws one for each validation triple by ``seed``, with another head or tail.

    Returns:
        ``accuracy``, ``roc_auc`` and ``average_precision``, the number of ``true`` and ``false``
        triples, and the ``thresholds``: that of all ``relations`` together under ``all``, which is
        used where a relation has no true or no false validation triple, and under ``relations``
        those by name. A threshold may be infinite. None without validation triples.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    if not len(kg.valid):
        return None
    drawn = _drawn(kg, seed) if valid_false is None else valid_false
    fitted, labels, relations = _scored(scorer, kg, kg.valid, drawn)
    pooled, thresholds = best_threshold(fitted, labels), np.full(kg.num_relations, np.nan)
    for relation in np.unique(relations):
        own = relations == relation
        if 0 < labels[own].sum() < own.sum():
            thresholds[relation] = best_threshold(fitted[own], labels[own])
    scores, true, asked = _scored(scorer, kg, kg.split(split), false)
    bars = np.where(np.isnan(thresholds), pooled, thresholds)[asked]
    own_bars = np.flatnonzero(~np.isnan(thresholds)).tolist()
    return {
        "accuracy": float(((scores >= bars) == true).mean()),
        "roc_auc": float(roc_auc_score(true, scores)),
        "average_precision": float(average_precision_score(true, scores)),
        "true": int(true.sum()),
        "false": int((~true).sum()),
        "thresholds": {
            "all": pooled,
            "relations": {kg.relations[i]: float(thresholds[i]) for i in own_bars},
        },
    }


def best_threshold(scores: Array, labels: Array) -> float:
    """From which score up (N,) triples are called true, so that most are called what they are.

    Halfway between two scores, or infinite; the lowest of those that are equally good.
    """
    order = np.argsort(scores, kind="stable")
    values, true = scores[order], labels[order]
    right = np.concatenate([[true.sum()], true.sum() + np.cumsum(np.where(true, -1, 1))])
    between = np.concatenate([[-np.inf], (values[:-1] + values[1:]) / 2, [np.inf]])
    possible = np.concatenate([[True], values[1:] > values[:-1], [True]])
    return float(between[np.argmax(np.where(possible, right, -1))])


def _drawn(kg: KnowledgeGraph, seed: int) -> Tensor:
    """(N, 3) a false triple for each of validation, with another tail and head in turn."""
    queries, generator = evaluation_queries(kg, "valid"), torch.Generator().manual_seed(seed)
    known = kg.steering_index  # nothing of the test split steers a fit
    found = draw_negatives(queries, known, kg.num_entities, generator, kg.node_types)
    chosen = (queries.direction == queries.triple % 2) & (found >= 0)
    triples = torch.stack([queries.heads, queries.relations, found], 1)[chosen]
    asks_head = queries.direction[chosen, None].bool()
    reciprocal = triples[:, [2, 1, 0]] - torch.tensor([0, kg.num_relations, 0])
    return torch.where(asks_head, reciprocal, triples)


def _scored(
    scorer: Scorer, kg: KnowledgeGraph, true: Tensor, false: Tensor
) -> tuple[Array, Array, Array]:
    """Scores of N true and false triples, which are true, and their relations; (N,) each."""
    triples = torch.cat([true, false])
    ends = triples, kg.reciprocate(triples, kg.num_relations)
    scores = np.mean([score_triples(scorer, *rows.unbind(1)) for rows in ends], axis=0)
    labels = np.arange(len(triples)) < len(true)
    return scores.astype(np.float64), labels, triples[:, 1].numpy()
