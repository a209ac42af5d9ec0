"""The best new facts of whole relations, without the scores of all pairs of entities.

A fact (h, r, t) has two queries, (h, r, ?) and (?, r, t). In each the softmax over the answers that
no split holds gives it a share; facts are ordered by the geometric mean of the two. A bound and
an early end keep this exact (the threshold algorithm of Fagin et al., 2003): a share is at most 1,
so a fact of which one share is known cannot exceed the root of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from dglkgmix.evaluation.negatives import score_triples
from dglkgmix.evaluation.rivals import new_scores, rivals
from dglkgmix.evaluation.scorer import Scorer
from dglkgmix.evaluation.shortlist import DEPTH, Array, best_columns
from dglkgmix.kg.degrees import DegreeBins

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

# Facts whose missing share is looked up at once.
_BATCH = 256


@dataclass(frozen=True)
class NewFacts:
    """New facts of one relation, best first; with bins, those of each bin after the other.

    Attributes:
        triples: (N, 3) ids.
        shares: (N,) geometric mean of the softmax shares in both queries: it orders facts, and is
            no probability.
        places: (N,) from 1; in each bin where there are bins.
    """

    triples: Tensor
    shares: Array
    places: Array


def new_facts(
    kg: KnowledgeGraph,
    scorer: Scorer,
    relation: int,
    top: int,
    by_bin: DegreeBins | None = None,
) -> NewFacts:
    """The ``top`` best facts of a relation that no split holds; with bins, of each bin.

    Entities that training has seen as heads of the relation are asked for tails, those seen as
    tails for heads; a fact counts where it is among the first ``DEPTH`` new answers of such a
    query. Equal facts come in the order of head and tail ids. Bins are of the tail-relation degree
    of the tail.

    Scores are held for a block of queries at a time, and beside them ``DEPTH`` facts a query.
    """
    pairs = _Pairs(kg, scorer, relation)
    if by_bin is None:
        groups = np.zeros(len(pairs.heads), dtype=np.int64)
    else:
        groups = by_bin.assign(kg.degrees.tail_relation(pairs.tails, relation)).numpy()
    best = [pairs.best(np.flatnonzero(groups == group), top) for group in np.unique(groups)]
    rows = np.concatenate([*best, np.empty(0, np.int64)])
    return NewFacts(
        triples=torch.stack(
            [pairs.heads[rows], torch.full((len(rows),), relation), pairs.tails[rows]], 1
        ),
        shares=np.exp(pairs.means(rows)),
        places=np.concatenate([*(1 + np.arange(len(part)) for part in best), rows[:0]]),
    )


class _Pairs:
    """Candidate facts of one relation, M of them, by head and tail.

    Attributes:
        heads, tails: (M,) long.
        scores: (2, M) of the tail and of the head query.
        rivals: (2, E) logarithm of the sum over the new answers of each entity's query, as heads
            and as tails; NaN where it has not been asked yet.
    """

    def __init__(self, kg: KnowledgeGraph, scorer: Scorer, relation: int) -> None:
        """Asks every entity that training has seen on either side."""
        self.kg, self.scorer = kg, scorer
        self.relations = (relation, relation + kg.num_relations)
        self.rivals: Array = np.full((2, kg.num_entities), np.nan)
        keys = torch.unique(torch.cat([self._asked(side) for side in (0, 1)]))
        self.heads, self.tails = keys // kg.num_entities, keys % kg.num_entities
        ends = (self.heads, self.tails), (self.tails, self.heads)
        self.scores: Array = np.stack(
            [
                score_triples(scorer, first, torch.full_like(first, r), second).astype(np.float64)
                for r, (first, second) in zip(self.relations, ends, strict=True)
            ]
        )

    def _asked(self, side: int) -> Tensor:
        """Keys head · E + tail of the first new answers of one side's queries."""
        entities, relation = self.kg.num_entities, self.relations[side]
        edges = self.kg.edges
        asked = torch.unique(edges[edges[:, 1] == relation, 0])
        keys = [asked[:0]]
        relations = torch.full_like(asked, relation)
        for rows, scores in new_scores(self.scorer, self.kg, asked, relations):
            self.rivals[side, asked[rows]] = scores.double().logsumexp(1)
            answers = best_columns(scores, min(DEPTH, entities))
            row, column = torch.isfinite(scores.gather(1, answers)).nonzero().unbind(1)
            own, other = asked[rows][row], answers[row, column]
            keys.append(other * entities + own if side else own * entities + other)
        return torch.cat(keys)

    def best(self, rows: Array, top: int) -> Array:
        """The best of the given rows, best first."""
        known = ~np.isnan(self.means(rows))
        found = self._first(rows[known], top)
        open_, bounds = rows[~known], self._bounds(rows[~known])
        order = np.argsort(-bounds, kind="stable")
        open_, bounds = open_[order], bounds[order]
        for start in range(0, len(open_), _BATCH):
            if len(found) == top and bounds[start] < self.means(found[-1:])[0]:
                break
            part = open_[start : start + _BATCH]
            self._ask(part)
            found = self._first(np.concatenate([found, part]), top)
        return found

    def means(self, rows: Array) -> Array:
        """Mean of the logarithms of both shares; NaN where one is unknown."""
        means: Array = self._shares(rows).mean(0)
        return means

    def _shares(self, rows: Array) -> Array:
        ends = np.stack([self.heads[rows].numpy(), self.tails[rows].numpy()])
        shares: Array = self.scores[:, rows] - np.take_along_axis(self.rivals, ends, 1)
        return shares

    def _bounds(self, rows: Array) -> Array:
        """The most that the mean can be: an unknown share is at most 1."""
        bounds: Array = np.nan_to_num(self._shares(rows), nan=0.0).mean(0)
        return bounds

    def _ask(self, rows: Array) -> None:
        """Look up what of the shares of some rows is unknown."""
        for side, ends in enumerate((self.heads, self.tails)):
            missing = np.unique(ends[rows].numpy())
            missing = missing[np.isnan(self.rivals[side, missing])]
            asked = torch.from_numpy(missing)
            relations = torch.full_like(asked, self.relations[side])
            self.rivals[side, missing] = rivals(self.scorer, self.kg, asked, relations)

    def _first(self, rows: Array, top: int) -> Array:
        rows = np.sort(rows)  # by head and tail: so come those that are equal
        first: Array = rows[np.argsort(-self.means(rows), kind="stable")][:top]
        return first
