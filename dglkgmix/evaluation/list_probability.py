"""The probability of a ranked answer (docs/numbers.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.platt import sigmoid
from dglkgmix.evaluation.shortlist import Array, Shortlists, read_shortlists, shortlists
from dglkgmix.kg.statistics import functional

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

FEATURES = ("score", "share", "place", "gap", "degree", "zero", "known", "answers", "heads")
# True and false answers in validation lists below which a fit may be anything.
FEWEST = 50
FOLDS = 5
# Lists that a fit looks at, spread evenly over the queries where there are more.
MOST = 10_000
# Of the mean gradient.
_TOLERANCE = 1e-8
# Least share of a relation's heads with one tail from which a query with a known answer is taken to
# have no other, but for a share; and as how many queries the share of all relations weighs in.
_MOSTLY, _POOLED = 0.8, 20


@dataclass(frozen=True)
class ListProbability:
    """Probability that an answer of a shortlist is among the held-out facts of its query.

    Attributes:
        intercept: log odds where all features are 0.
        weights: of the ``FEATURES``, in their order (:func:`features`).
        relations: relation id → what it adds to the log odds, and what it adds besides where the
            tail-relation degree is 0. Relations without validation queries add nothing.
        repeats: relation → share of its queries with a known answer that have a held-out one
            (:func:`repeat_shares`).
        one_tail: relations by which most heads have one tail: their share is a factor of the
            probabilities of a query with a known answer.
    """

    intercept: float
    weights: tuple[float, ...]
    relations: dict[int, tuple[float, float]]
    repeats: dict[int, float] = field(default_factory=dict)
    one_tail: tuple[int, ...] = ()

    def of(self, lists: Shortlists) -> Array:
        """(Q, K) probabilities, which may rise down a list; NaN at places without a candidate."""
        offsets = np.zeros((2, int(lists.relations.max(initial=0)) + 1))
        for relation, added in self.relations.items():
            if relation < offsets.shape[1]:
                offsets[:, relation] = added
        plain, zero = offsets[:, lists.relations]
        x = features(lists)
        logits = self.intercept + x @ np.array(self.weights)
        logits += plain[:, None] + zero[:, None] * (lists.degrees == 0)
        found: Array = sigmoid(logits)
        for relation in self.one_tail:
            found[(lists.relations == relation) & (lists.known > 0)] *= self.repeats[relation]
        return np.where(lists.filled, found, np.nan)

    def another(self, relation: int) -> float | None:
        """The share in ``repeats`` that :meth:`of` does not multiply by; None where it does.

        Over all queries of the relation with a known answer, most of which lack none, the chance of
        an answer is its probability times this.
        """
        return None if relation in self.one_tail else self.repeats.get(relation)

    def of_entities(
        self,
        kg: KnowledgeGraph,
        heads: Tensor,
        relations: Tensor,
        scores: Tensor,
        *,
        candidates: Candidates,
    ) -> Array:
        """(Q, E) from the scores (Q, E) of Q queries; NaN for entities off the query's list."""
        known = kg.steering_index
        lists = shortlists(kg, known, heads, relations, scores, candidates=candidates)
        found = np.full(scores.shape, np.nan)
        np.put_along_axis(found, lists.entities, self.of(lists), 1)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as ``metrics.json`` holds them."""
        return {
            "intercept": self.intercept,
            "weights": dict(zip(FEATURES, self.weights, strict=True)),
            "relations": {str(key): list(added) for key, added in self.relations.items()},
            "repeats": {str(key): share for key, share in self.repeats.items()},
            "one_tail": list(self.one_tail),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ListProbability:
        """From :meth:`to_dict`."""
        relations = {int(key): (a, b) for key, (a, b) in values["relations"].items()}
        weights = tuple(values["weights"][name] for name in FEATURES)
        repeats = {int(key): share for key, share in values["repeats"].items()}
        return cls(values["intercept"], weights, relations, repeats, tuple(values["one_tail"]))


def features(lists: Shortlists) -> Array:
    """(Q, K, 9) what is seen of each candidate; 0 at places without one.

    score; share, the logarithm of its softmax over the list; place, the logarithm of 1, 2, …; gap,
    log(1 + its score less the next one's), 0 at the last place; degree, log(1 + tail-relation
    degree); zero, 1 where that degree is 0; known, log(1 + known answers of the query); answers and
    heads, log(1 + the two figures of :meth:`~dglkgmix.evaluation.shared_answers.SharedAnswers.of`).
    """
    filled = lists.filled
    scores = np.where(filled, lists.scores, 0)
    behind = scores - scores[:, :1]
    total = np.where(filled, np.exp(behind), 0).sum(1, keepdims=True)
    share = behind - np.log(np.maximum(total, 1))  # The best adds 1: nothing changes but 0.
    gap = np.zeros_like(scores)
    gap[:, :-1] = np.where(filled[:, 1:], scores[:, :-1] - scores[:, 1:], 0)
    place = np.log(np.arange(1, scores.shape[1] + 1))
    columns = (
        *(scores, share, np.broadcast_to(place, scores.shape), np.log1p(gap)),
        *(np.log1p(lists.degrees), lists.degrees == 0),
        np.broadcast_to(np.log1p(lists.known)[:, None], scores.shape),
        *np.moveaxis(np.log1p(lists.shared), 2, 0),
    )
    return np.stack(columns, 2) * filled[:, :, None]


def fit_list_probability(lists: Shortlists, true: Array) -> ListProbability | None:
    """Maximum likelihood with a normal prior on standardised weights and on relations' offsets.

    Args:
        lists: of the queries of a split.
        true: (Q, K) which candidates are facts of the split.

    Returns:
        None with fewer than ``FEWEST`` true or false candidates.
    """
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression

    if len(true) > MOST:
        chosen = np.linspace(0, len(true) - 1, MOST).astype(np.int64)
        lists, true = lists.rows(chosen), true[chosen]
    filled = lists.filled
    y = true[filled]
    if min(y.sum(), len(y) - y.sum()) < FEWEST:
        return None
    x = features(lists)[filled]
    center, spread = x.mean(0), x.std(0)
    spread[spread == 0] = 1
    x = (x - center) / spread
    present, index = np.unique(lists.relations, return_inverse=True)
    relation = np.broadcast_to(index[:, None], filled.shape)[filled]
    zero = lists.degrees[filled] == 0
    places = relation, np.arange(len(y) + 1)
    own, of_zero = (
        sparse.csr_matrix((values, *places), (len(y), len(present)))
        for values in (np.ones(len(y)), zero.astype(np.float64))
    )
    columns = sparse.hstack([x, own, of_zero], format="csr")
    # C = 1 is a standard normal prior, of which the intercept is free.
    found = LogisticRegression(C=1.0, solver="newton-cholesky", tol=_TOLERANCE).fit(columns, y)
    size = x.shape[1]
    weights, offsets, extra = np.split(found.coef_[0], [size, size + len(present)])
    added = zip(present.tolist(), zip(offsets.tolist(), extra.tolist(), strict=True), strict=True)
    return ListProbability(
        intercept=float(found.intercept_[0] - (weights * center / spread).sum()),
        weights=tuple((weights / spread).tolist()),
        relations=dict(added),
    )


def fit_on_validation(
    scorer: Scorer, kg: KnowledgeGraph, candidates: Candidates | None = None
) -> ListProbability | None:
    """:func:`fit_list_probability` on the validation split; None where it is empty or too small.

    It knows nothing of the test split. ``candidates`` None are the default of the graph.
    """
    if not len(kg.valid):
        return None
    found = fit_list_probability(*read_shortlists(scorer, kg, "valid", candidates))
    if found is None:
        return None
    one_tail = functional(kg, _MOSTLY)
    return replace(
        found,
        repeats=repeat_shares(kg, one_tail),
        one_tail=tuple(one_tail.nonzero()[:, 0].tolist()),
    )


def repeat_shares(kg: KnowledgeGraph, one_tail: Tensor) -> dict[int, float]:
    """For each relation: of its queries with an answer in training, the share that has another one
    in validation.

    The lists of validation queries cannot tell it: each of these queries has a held-out answer.

    Args:
        kg: the graph.
        one_tail: (2R,) bool, relations by which most heads have one tail. The share over all these
            weighs in that of each as 20 queries, and so does that over all others in theirs.
    """
    held = torch.cat([kg.valid, kg.reciprocate(kg.valid, kg.num_relations)])
    fresh = held[~kg.train_index.contains(*held.unbind(1))]
    rows = torch.unique(kg.train_index.locate(fresh[:, 0], fresh[:, 1]))
    asked, size = kg.train_index.relations, len(one_tail)
    queries = asked.bincount(minlength=size).double()
    again = asked[rows[rows >= 0]].bincount(minlength=size).double()
    shares = torch.zeros_like(queries)
    for kind in (one_tail, ~one_tail):
        pooled = (again[kind].sum() + 0.5) / (queries[kind].sum() + 1)
        shares[kind] = (again[kind] + _POOLED * pooled) / (queries[kind] + _POOLED)
    return {r: float(shares[r]) for r in queries.nonzero()[:, 0].tolist()}


def cross_fitted(lists: Shortlists, true: Array) -> Array | None:
    """(Q, K) probabilities of each list from a fit on other folds' queries; None if too few."""
    folds = np.arange(len(true)) % FOLDS
    found = np.full(true.shape, np.nan)
    for fold in range(FOLDS):
        own = folds == fold
        fitted = fit_list_probability(lists.rows(~own), true[~own])
        if fitted is None:
            return None
        found[own] = fitted.of(lists.rows(own))
    return found
