"""The best new facts of whole relations, without the scores of all pairs of entities.

A fact (h, r, t) is an answer to two queries, (h, r, ?) and (?, r, t), and facts are ordered by the
mean of its two probabilities as a ranked answer. A bound and an early end keep this exact (the
threshold algorithm of Fagin et al., 2003): a probability is at most 1, so facts of which one is
known cannot exceed the mean of that and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.list_probability import FEATURES, ListProbability
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.shortlist import DEPTH, Array, make_shortlists
from dglkgmix.kg.degrees import DegreeBins

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

# In place of probabilities where none could be fitted: x / (1 + x) for a softmax share x of the
# query's first answers.
BY_SHARE = ListProbability(0.0, tuple(float(name == "share") for name in FEATURES), {})
# Facts whose missing probability is looked up at once; facts compared with lists at once, and
# queries whose lists get their probabilities at once.
_BATCH, _COMPARED = 256, 65_536


@dataclass(frozen=True)
class NewFacts:
    """New facts of one relation, best first; with bins, those of each bin after the other.

    Attributes:
        triples: (N, 3) ids.
        plausibility: (N,) mean of the probabilities in both queries, 0 where the fact is not among
            a query's first answers; without a fit, of what ``BY_SHARE`` gives.
        places: (N,) from 1; in each bin where there are bins.
    """

    triples: Tensor
    plausibility: Array
    places: Array


def new_facts(
    kg: KnowledgeGraph,
    scorer: Scorer,
    relation: int,
    top: int,
    listed: ListProbability | None = None,
    *,
    by_bin: DegreeBins | None = None,
    candidates: Candidates | None = None,
) -> NewFacts:
    """The ``top`` best facts of a relation that no split holds; with bins, of each bin.

    Entities that training has seen as heads of the relation are asked for tails, those seen as
    tails for heads; a fact counts where it is on the list of such a query, its first 20 answers
    outside of train and valid. Equal facts come in the order of head and tail ids. Bins are of the
    tail-relation degree of the tail.

    Scores are held for a block of queries at a time, and beside them the lists.

    Raises:
        NumericError: a score is not finite.
    """
    among = candidates or Candidates.of(kg)
    pairs = _Pairs(kg, scorer, relation, listed or BY_SHARE, among)
    groups = torch.zeros_like(pairs.heads)
    if by_bin is not None:
        groups = by_bin.assign(kg.degrees.tail_relation(pairs.tails, relation))
    best = [pairs.best(np.flatnonzero(groups == group), top) for group in torch.unique(groups)]
    rows = np.concatenate([*best, np.empty(0, np.int64)])
    columns = pairs.heads[rows], torch.full((len(rows),), relation), pairs.tails[rows]
    return NewFacts(
        triples=torch.stack(columns, 1),
        plausibility=pairs.chances[:, rows].mean(0),
        places=np.concatenate([*(1 + np.arange(len(part)) for part in best), rows[:0]]),
    )


class _Pairs:
    """Candidate facts of one relation, M of them, by head and tail.

    Attributes:
        heads, tails: (M,) long.
        chances: (2, M) probability in the tail and in the head query; NaN where it is unknown.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        scorer: Scorer,
        relation: int,
        listed: ListProbability,
        candidates: Candidates,
    ) -> None:
        """Asks every entity that training has seen on either side."""
        self.kg, self.scorer, self.listed, self.candidates = kg, scorer, listed, candidates
        self.relations = (relation, relation + kg.num_relations)
        # Of each side: the list of an entity by its row, −1 before it is asked.
        self._row: Array = np.full((2, kg.num_entities), -1)
        width = min(DEPTH, kg.num_entities)
        self._answers: list[Array] = [np.empty((0, width), np.int64)] * 2
        self._values: list[Array] = [np.empty((0, width))] * 2
        keys = []
        for side, asked_relation in enumerate(self.relations):
            asked = torch.unique(kg.edges[kg.edges[:, 1] == asked_relation, 0]).numpy()
            self._ask(side, asked)
            row, column = np.nonzero(~np.isnan(self._values[side]))
            ends = asked[row], self._answers[side][row, column]
            keys.append(ends[side] * kg.num_entities + ends[1 - side])
        found = torch.from_numpy(np.unique(np.concatenate(keys)))
        heads, tails = found // kg.num_entities, found % kg.num_entities
        new = ~kg.known_index.contains(heads, relation, tails)
        self.heads, self.tails = heads[new], tails[new]
        self.chances: Array = np.full((2, len(self.heads)), np.nan)
        for start in range(0, len(self.heads), _COMPARED):
            self._look_up(np.arange(start, min(start + _COMPARED, len(self.heads))))

    def best(self, rows: Array, top: int) -> Array:
        """The best of the given rows, best first."""
        known = ~np.isnan(self.chances[:, rows]).any(0)
        found = self._first(rows[known], top)
        left = rows[~known]
        bounds = np.nan_to_num(self.chances[:, left], nan=1.0).mean(0)
        order = np.argsort(-bounds, kind="stable")
        left, bounds = left[order], bounds[order]
        for start in range(0, len(left), _BATCH):
            if len(found) == top and bounds[start] < self.chances[:, found[-1]].mean():
                break
            part = left[start : start + _BATCH]
            for side, ends in enumerate((self.heads, self.tails)):
                asked = np.unique(ends[part])
                self._ask(side, asked[self._row[side, asked] < 0])
            self._look_up(part)
            found = self._first(np.concatenate([found, part]), top)
        return found

    def _first(self, rows: Array, top: int) -> Array:
        rows = np.sort(rows)  # by head and tail: so come those that are equal
        first: Array = rows[np.argsort(-self.chances[:, rows].mean(0), kind="stable")][:top]
        return first

    def _look_up(self, rows: Array) -> None:
        """Probabilities of some rows, in the queries that have been asked."""
        ends = self.heads[rows].numpy(), self.tails[rows].numpy()
        for side in (0, 1):
            place = self._row[side, ends[side]]
            asked = place >= 0
            place, other = place[asked], ends[1 - side][asked, None]
            matches = self._answers[side][place] == other
            self.chances[side, rows[asked]] = np.nansum(self._values[side][place] * matches, 1)

    def _ask(self, side: int, ends: Array) -> None:
        """The lists of N entities' queries, with their probabilities; NaN at places without."""
        self._row[side, ends] = len(self._answers[side]) + np.arange(len(ends))
        answers, values = [self._answers[side]], [self._values[side]]
        graph = self.scorer, self.kg, self.kg.steering_index
        for heads in torch.split(torch.from_numpy(ends), _COMPARED):
            relations = torch.full_like(heads, self.relations[side])
            lists = make_shortlists(*graph, heads, relations, candidates=self.candidates)
            answers.append(lists.entities)
            values.append(self.listed.of(lists).round(12))  # what differs by less is equal
        self._answers[side], self._values[side] = np.concatenate(answers), np.concatenate(values)
