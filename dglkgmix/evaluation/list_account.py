"""Whether the probabilities of ranked answers hold: over bands of them, degree bins, relations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import ListProbability, cross_fitted
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.shortlist import Array, Shortlists, read_shortlists

if TYPE_CHECKING:
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph

# Answers of a list that are looked at, bands of equal width of the error and of the account, and
# the k of precision at k.
SHOWN, ECE_BANDS, BANDS, PRECISION = 10, 15, 10, (1, 3, 10)


@dataclass(frozen=True)
class ListedAnswers:
    """The first ten answers of every list, N of them, all (N,).

    Attributes:
        probability: of each.
        true: whether the split holds it.
        place: from 1.
        degree: its tail-relation degree.
        relation: of its query.
    """

    probability: Array
    true: Array
    place: Array
    degree: Array
    relation: Array

    @classmethod
    def of(cls, lists: Shortlists, true: Array, probability: Array) -> ListedAnswers:
        """From (Q, K) arrays."""
        shown = lists.filled & (np.arange(true.shape[1]) < SHOWN)
        row, column = shown.nonzero()
        return cls(
            probability[shown],
            true[shown],
            column + 1,
            lists.degrees[shown],
            lists.relations[row],
        )

    def figures(self, chosen: Array) -> dict[str, Any]:
        """Of the answers that are ``chosen``, (N,) bool.

        Returns:
            ``answers``; means of ``probability``; ``precision@k``, the share of true ones among
            those at places up to k; ``ece`` over 15 bands of equal width; ``brier``, and
            ``brier_base``, that of giving each answer the share of true ones. None for no answers.
        """
        p, y, place = self.probability[chosen], self.true[chosen], self.place[chosen]
        found: dict[str, Any] = {"answers": len(p), "probability": _mean(p)}
        found |= {f"precision@{k}": _mean(y[place <= k]) for k in PRECISION}
        gaps = np.bincount(bands(p, ECE_BANDS), weights=p - y)
        share = y.mean() if len(y) else 0.0
        return found | {
            "ece": float(np.abs(gaps).sum() / len(p)) if len(p) else None,
            "brier": _mean((p - y) ** 2),
            "brier_base": _mean((share - y) ** 2),
        }

    def account(self, bins: DegreeBins) -> dict[str, Any]:
        """:meth:`figures` under ``overall``, ``bands.<band>`` and ``bins.<name>``."""
        band, group = bands(self.probability, BANDS), bins.assign(self.degree).numpy()
        edges = [f"{i / BANDS:.1f}" for i in range(BANDS + 1)]
        return {
            "overall": self.figures(np.ones(len(band), dtype=bool)),
            "bands": {f"{edges[i]}-{edges[i + 1]}": self.figures(band == i) for i in range(BANDS)},
            "bins": {name: self.figures(group == i) for i, name in enumerate(bins.names)},
        }

    def by_relation(self, kg: KnowledgeGraph) -> dict[str, dict[str, Any]]:
        """:meth:`figures` of every relation that has answers, heads and tails together."""
        own = self.relation % kg.num_relations
        return {kg.relations[i]: self.figures(own == i) for i in np.unique(own).tolist()}


def bands(probabilities: Array, count: int) -> Array:
    """(N,) 0 … ``count`` − 1: bands of equal width; the last one holds 1."""
    return np.minimum((probabilities * count).astype(np.int64), count - 1)


def listed_answers(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    fitted: ListProbability,
    candidates: Candidates | None = None,
) -> ListedAnswers | None:
    """The answers of a split with their probabilities.

    ``fitted`` comes from the validation split; the answers of that split itself get cross-fitted
    probabilities, and None where it is too small for these. ``candidates`` are those of the fit.
    """
    lists, true = read_shortlists(scorer, kg, split, candidates)
    probability = cross_fitted(lists, true) if split == "valid" else fitted.of(lists)
    return None if probability is None else ListedAnswers.of(lists, true, probability)


def _mean(values: Array) -> float | None:
    return float(values.mean()) if len(values) else None
