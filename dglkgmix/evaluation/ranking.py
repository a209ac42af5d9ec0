"""Filtered ranks in one blockwise pass over queries × entities (docs/numbers.md, Ranks).

Queries that share head and relation share their scores. The scores of a block are compared with
each answer and counted; known answers are then taken off by looking up their few scores. No sort
and no dense mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.processes import ALONE, Processes

if TYPE_CHECKING:
    from dglkgmix.kg.index import TripleIndex

BLOCK = 2**24
# Queries that the model makes in one pass. Their last bits depend on the size of the pass, so it is
# the same for every block and number of processes. A convolution keeps far more than one row of
# scores for each query, however few the entities.
RUN = 512
# Counts are summed in float32, which is fast and exact up to here.
EXACT = 2**24


@dataclass(frozen=True)
class Ranks:
    """Ranks of Q queries, all (Q,), in the order of the queries.

    Attributes:
        score: float32, the answer's score.
        rank: float64, realistic: the mean of the next two.
        optimistic: int64, 1 + number of rivals with a greater score.
        pessimistic: int64, 1 + number of rivals with a greater or equal score.
        candidates: int64, those left after filtering, the answer included.
        missed: bool, the answer is no candidate. Its rank is then the last one of all entities left
            after filtering, and these are counted in ``candidates``.
    """

    score: Tensor
    rank: Tensor
    optimistic: Tensor
    pessimistic: Tensor
    candidates: Tensor
    missed: Tensor


def rank(
    scorer: Scorer,
    queries: EvalQueries,
    known: TripleIndex,
    *,
    block: int = BLOCK,
    candidates: Candidates | None = None,
    processes: Processes = ALONE,
) -> Ranks:
    """Rank the answer of each query among the entities that are not known answers themselves.

    Neither ``block`` nor the number of processes changes a rank, where the scorer keeps what
    :class:`~dglkgmix.evaluation.model_scorer.Scorer` asks of it.

    Args:
        scorer: the model.
        queries: Q queries with answers.
        known: every known triple, both directions; each is removed once, the answer never.
        block: scores held at once (and as many comparisons).
        candidates: the entities that count; None is all of them.
        processes: those that have this model and call with the same arguments; each ranks its
            part of the queries, and all get all ranks.

    Raises:
        NumericError: a score is not finite; the message names the query.
        ConfigError: ``block`` is below 1.
    """
    if block < 1:
        raise ConfigError(f"block must be at least 1, not {block}: it is the scores held at once")
    among = candidates or Candidates.all(scorer.num_entities, known.num_relations)
    counts = _Counts(scorer, queries, known, block, among)
    with torch.no_grad(), processes.together():
        for run in islice(_Pairs.of(queries).blocks(RUN), processes.index, None, processes.size):
            counts.add(run)
    processes.add_up(counts.score, counts.above, counts.at_least)
    asked = queries.heads, queries.relations, queries.answers
    left, missed = among.left(known, *asked)
    # Known answers were taken off with the answer among them, where it is known; it stays.
    own = known.contains(*asked).long()
    optimistic = torch.where(missed, left, 1 + counts.above)
    pessimistic = torch.where(missed, left, counts.at_least + own)
    realistic = (optimistic + pessimistic).double() / 2
    return Ranks(counts.score, realistic, optimistic, pessimistic, left, missed)


@dataclass(frozen=True)
class _Pairs:
    """Some of the distinct (head, relation) pairs, those with most answers first; U of them.

    ``order[starts[u] : starts[u] + counts[u]]`` are the queries of pair u. As numbers of answers
    descend, the pairs with more than j answers are a prefix.
    """

    heads: Tensor
    relations: Tensor
    counts: Tensor
    starts: Tensor
    order: Tensor

    @classmethod
    def of(cls, queries: EvalQueries) -> _Pairs:
        stride = int(queries.heads.max()) + 1 if len(queries) else 1
        keys, inverse, counts = torch.unique(
            queries.relations * stride + queries.heads, return_inverse=True, return_counts=True
        )
        by_count = torch.argsort(counts, descending=True, stable=True)
        counts, keys = counts[by_count], keys[by_count]
        order = torch.argsort(torch.argsort(by_count)[inverse], stable=True)
        return cls(keys % stride, keys // stride, counts, counts.cumsum(0) - counts, order)

    def blocks(self, rows: int) -> Iterator[_Pairs]:
        """Runs of at most ``rows`` pairs."""
        for first in range(0, len(self.heads), rows):
            s = slice(first, first + rows)
            own = self.heads[s], self.relations[s], self.counts[s], self.starts[s]
            yield _Pairs(*own, order=self.order)

    @property
    def queries(self) -> Tensor:
        """(Q,) every query of these pairs, pair by pair; Q = Σ counts."""
        return self.order[int(self.starts[0]) : int(self.starts[-1] + self.counts[-1])]

    @property
    def rows(self) -> Tensor:
        """(Q,) the pair of each of :attr:`queries`."""
        return torch.repeat_interleave(self.counts)

    def rounds(self) -> Iterator[Tensor]:
        """The j-th query of each pair that has one, for j = 0, 1, …: (n,), of the first n pairs."""
        for j in range(int(self.counts[0])):
            yield self.order[self.starts[: int((self.counts > j).sum())] + j]


class _Counts:
    """Of each query: the answer's score, and how many candidates score above or at least that."""

    def __init__(
        self,
        scorer: Scorer,
        queries: EvalQueries,
        known: TripleIndex,
        block: int,
        candidates: Candidates,
    ) -> None:
        self.scorer, self.queries, self.known = scorer, queries, known
        self.candidates = candidates
        self.width = min(block, scorer.num_entities, EXACT)
        self.rows = block // self.width
        self.score = torch.zeros(len(queries), dtype=torch.float32)
        self.above, self.at_least = torch.zeros((2, len(queries)), dtype=torch.long)
        # Where comparisons go. In float32: its sums are the fastest.
        self.verdict = torch.empty(0)

    def add(self, run: _Pairs) -> None:
        """Count for the queries of some pairs: first their answers' scores are read, then all."""
        query = self.scorer.query(run.heads, run.relations)
        starts = range(0, self.scorer.num_entities, self.width)
        for pairs, part in zip(run.blocks(self.rows), torch.split(query, self.rows), strict=True):
            asked = pairs.queries
            for start in starts:
                scores = self._scores(pairs, part, start)
                answers = self.queries.answers[asked] - start
                inside = (answers >= 0) & (answers < scores.shape[1])
                at = pairs.rows[inside].to(scores.device), answers[inside].to(scores.device)
                self.score[asked[inside]] = scores[at].cpu()
            known = self.known.tails_of(pairs.heads, pairs.relations)
            for start in starts:
                if len(starts) > 1:  # the only slice is at hand
                    scores = self._scores(pairs, part, start)
                if not self.candidates.everything:  # others never count
                    mask = self.candidates.mask(pairs.relations, start, start + scores.shape[1])
                    scores = scores.masked_fill(~mask.to(scores.device), -torch.inf)
                self._compare(pairs, scores)
                self._take_off_known(pairs, scores, known[0], known[1] - start)

    def _scores(self, pairs: _Pairs, query: Tensor, start: int) -> Tensor:
        stop = min(start + self.width, self.scorer.num_entities)
        scores = self.scorer.scores(query, start, stop).float()
        # One sum a row is far cheaper than a look at each score; finite scores may overflow it.
        if not bool(torch.isfinite(scores.sum(1)).all()):
            _refuse_infinite(scores, pairs, self.queries)
        return scores

    def _compare(self, pairs: _Pairs, scores: Tensor) -> None:
        """Count against one answer of each row at a time, so that no score is copied."""
        if not len(self.verdict):
            self.verdict = torch.empty_like(scores)
        for asked in pairs.rounds():
            target = self.score[asked].to(scores.device)[:, None]
            part, verdict = scores[: len(asked)], self.verdict[: len(asked), : scores.shape[1]]
            torch.gt(part, target, out=verdict)
            self.above[asked] += verdict.sum(1).long().cpu()
            torch.ge(part, target, out=verdict)
            self.at_least[asked] += verdict.sum(1).long().cpu()

    def _take_off_known(self, pairs: _Pairs, scores: Tensor, rows: Tensor, places: Tensor) -> None:
        """Take off the known answers at (rows, places) where the slice holds them, own ones, too.

        Scores are numbered in their order, so that a row and a number make a key: each query finds
        its place among the sorted keys.
        """
        inside = (places >= 0) & (places < scores.shape[1])
        rows, places, asked = rows[inside], places[inside], pairs.queries
        values = scores[rows.to(scores.device), places.to(scores.device)].cpu()
        numbers = torch.unique(torch.cat([values, self.score[asked]]), return_inverse=True)[1]
        number, bar = numbers.split([len(values), len(asked)])
        keys, bars = (rows * len(numbers) + number).sort().values, pairs.rows * len(numbers) + bar
        end = torch.searchsorted(keys, (pairs.rows + 1) * len(numbers))
        self.above[asked] -= end - torch.searchsorted(keys, bars, right=True)
        self.at_least[asked] -= end - torch.searchsorted(keys, bars)


def _refuse_infinite(scores: Tensor, pairs: _Pairs, queries: EvalQueries) -> None:
    bad = ~torch.isfinite(scores)
    if not bool(bad.any()):
        return
    row = int(bad.any(1).nonzero()[0, 0])
    query = queries.describe(int(pairs.order[pairs.starts[row]]))
    raise NumericError(
        f"the model scores {query} with {float(scores[row][bad[row]][0])}: "
        "no rank can be told from scores that are not finite. Has the training diverged?"
    )
