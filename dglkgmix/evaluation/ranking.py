"""Filtered ranks in one blockwise pass over queries × entities (method, Evaluation).

Queries that share head and relation share their scores. The scores of a block are compared with
each answer and counted; known answers are then taken off by looking up their few scores. No sort
and no dense mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.evaluation.scorer import Scorer

if TYPE_CHECKING:
    from dglkgmix.kg.index import TripleIndex

BLOCK = 2**24
# A convolution keeps far more than one row of scores for each query, however few the entities.
MAX_ROWS = 1024
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
        candidates: int64, entities left after filtering, the answer included.
    """

    score: Tensor
    rank: Tensor
    optimistic: Tensor
    pessimistic: Tensor
    candidates: Tensor


def rank(
    scorer: Scorer,
    queries: EvalQueries,
    known: TripleIndex,
    *,
    block: int = BLOCK,
    candidates: Tensor | None = None,
) -> Ranks:
    """Rank the answer of each query among the entities that are not known answers themselves.

    Args:
        scorer: the model.
        queries: Q queries with answers.
        known: every known triple, both directions; each is removed once, the answer never.
        block: scores held at once.
        candidates: (E,) node types; only entities of the answer's type are its rivals.

    Raises:
        NumericError: a score is not finite; the message names the query.
        ConfigError: ``block`` is below 1.
    """
    if block < 1:
        raise ConfigError(f"block must be at least 1, not {block}: it is the scores held at once")
    with torch.no_grad():
        groups = _Groups(queries)
        counter = _Counter(scorer, queries, known, block, candidates)
        return counter.ranks(groups)


class _Groups:
    """Distinct (head, relation) pairs, those with most answers first, and the queries of each.

    ``order[starts[u] : starts[u + 1]]`` are the queries of pair u. As numbers of answers descend,
    the pairs with more than j answers are a prefix of any run of pairs.
    """

    def __init__(self, queries: EvalQueries) -> None:
        stride = int(queries.heads.max()) + 1 if len(queries) else 1
        keys, inverse, counts = torch.unique(
            queries.relations * stride + queries.heads, return_inverse=True, return_counts=True
        )
        by_count = torch.argsort(counts, descending=True, stable=True)
        position = torch.empty_like(by_count)
        position[by_count] = torch.arange(len(by_count))
        self.heads, self.relations = (keys % stride)[by_count], (keys // stride)[by_count]
        self.counts = counts[by_count]
        self.order = torch.argsort(position[inverse], stable=True)
        self.starts = torch.nn.functional.pad(self.counts.cumsum(0), (1, 0))

    def __len__(self) -> int:
        return len(self.heads)


class _Counter:
    """Counts, for each query, the rivals above and at the answer's score."""

    def __init__(
        self,
        scorer: Scorer,
        queries: EvalQueries,
        known: TripleIndex,
        block: int,
        types: Tensor | None,
    ) -> None:
        self.scorer, self.queries, self.known, self.types = scorer, queries, known, types
        self.width = min(block, scorer.num_entities, EXACT)
        self.rows = max(1, min(block // self.width, MAX_ROWS))
        self.score = torch.empty(len(queries), dtype=torch.float32)
        self.above, self.at_least, self.removed = torch.zeros((3, len(queries)), dtype=torch.long)

    def ranks(self, groups: _Groups) -> Ranks:
        for first in range(0, len(groups), self.rows):
            self._count(_Rows(groups, slice(first, min(first + self.rows, len(groups)))))
        # The answer's own score is at least itself, which is the 1 of its rank.
        optimistic, pessimistic = 1 + self.above, self.at_least
        return Ranks(
            score=self.score,
            rank=(optimistic + pessimistic).double() / 2,
            optimistic=optimistic,
            pessimistic=pessimistic,
            candidates=self._pool() - self.removed,
        )

    def _pool(self) -> Tensor:
        """(Q,) candidates before filtering."""
        if self.types is None:
            return torch.full((len(self.queries),), self.scorer.num_entities)
        return torch.bincount(self.types)[self.types[self.queries.answers]]

    def _count(self, rows: _Rows) -> None:
        slices = _Slices(self, rows)
        for start, stop, scores in slices:
            self._read_targets(rows, start, stop, scores)
        known_rows, known_tails = self.known.tails_of(rows.heads, rows.relations)
        for start, stop, scores in slices:
            inside = (known_tails >= start) & (known_tails < stop)
            known = _Known(known_rows[inside], known_tails[inside], scores, start)
            self._compare(rows, start, scores, known)

    def _read_targets(self, rows: _Rows, start: int, stop: int, scores: Tensor) -> None:
        answers = self.queries.answers[rows.all]
        inside = (answers >= start) & (answers < stop)
        values = scores[
            rows.row_of_all[inside].to(scores.device), (answers[inside] - start).to(scores.device)
        ]
        self.score[rows.all[inside]] = values.to(self.score.device)

    def _compare(self, rows: _Rows, start: int, scores: Tensor, known: _Known) -> None:
        """Count one answer of each row at a time: no score is copied, no pair expanded."""
        verdict = torch.empty_like(scores)
        weights = self._type_columns(start, scores)
        for asked in rows.rounds():
            target = self.score[asked].to(scores.device)[:, None]
            part, out = scores[: len(asked)], verdict[: len(asked)]
            answers = self.queries.answers[asked]
            above = self._sum(torch.gt(part, target, out=out), answers, weights)
            at_least = self._sum(torch.ge(part, target, out=out), answers, weights)
            known_above, known_at_least, removed = known.count(target[:, 0], answers, self.types)
            self.above[asked] += above - known_above
            self.at_least[asked] += at_least - known_at_least
            self.removed[asked] += removed

    def _type_columns(self, start: int, scores: Tensor) -> Tensor | None:
        """(width, T) 0/1 membership of the slice's entities in the T node types."""
        if self.types is None:
            return None
        types = self.types[start : start + scores.shape[1]]
        columns = torch.nn.functional.one_hot(types, int(self.types.max()) + 1)
        return columns.to(device=scores.device, dtype=torch.float32)

    def _sum(self, verdict: Tensor, answers: Tensor, columns: Tensor | None) -> Tensor:
        """(n,) number of ones in each row, among entities of the answer's type where typed."""
        if columns is None or self.types is None:
            return verdict.sum(1).long().cpu()
        own_type = self.types[answers].to(verdict.device)
        return (verdict @ columns).gather(1, own_type[:, None])[:, 0].long().cpu()


class _Rows:
    """A run of pairs: the rows of one block of scores."""

    def __init__(self, groups: _Groups, span: slice) -> None:
        self.heads, self.relations = groups.heads[span], groups.relations[span]
        self.counts = groups.counts[span]
        self.starts = groups.starts[span]
        self.order = groups.order
        first, last = int(self.starts[0]), int(self.starts[-1] + self.counts[-1])
        self.all = groups.order[first:last]  # every query of the block
        self.row_of_all = torch.repeat_interleave(self.counts)

    def rounds(self) -> Iterator[Tensor]:
        """Queries of the first n rows that have a j-th answer, for j = 0, 1, …; (n,) each."""
        for j in range(int(self.counts[0])):
            rows = int((self.counts > j).sum())
            yield self.order[self.starts[:rows] + j]


class _Slices:
    """Scores of a block of queries, entity slice by entity slice; kept where one slice is all."""

    def __init__(self, counter: _Counter, rows: _Rows) -> None:
        self.counter, self.rows = counter, rows
        self.query: Any = counter.scorer.query(rows.heads, rows.relations)
        self.single: Tensor | None = None

    def __iter__(self) -> Iterator[tuple[int, int, Tensor]]:
        total, width = self.counter.scorer.num_entities, self.counter.width
        for start in range(0, total, width):
            stop = min(start + width, total)
            yield start, stop, self._scores(start, stop, whole=width == total)

    def _scores(self, start: int, stop: int, *, whole: bool) -> Tensor:
        if self.single is not None:
            return self.single
        scores = self.counter.scorer.scores(self.query, start, stop).float()
        _check_finite(scores, self.rows, self.counter.queries)
        if whole:
            self.single = scores
        return scores


class _Known:
    """Scores of the known answers of a block, in one slice of entities; rows ascending."""

    def __init__(self, rows: Tensor, tails: Tensor, scores: Tensor, start: int) -> None:
        self.rows, self.tails = rows, tails
        self.scores = scores[rows.to(scores.device), (tails - start).to(scores.device)].cpu()

    def count(
        self, target: Tensor, answers: Tensor, types: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(n,) known answers above, at least at, and altogether, for the first n rows.

        The answer itself is never among them; with node types, nor is an entity of another type.
        """
        stop = int(torch.searchsorted(self.rows, len(answers)))
        rows, tails, scores = self.rows[:stop], self.tails[:stop], self.scores[:stop]
        rivals = tails != answers[rows]
        if types is not None:
            rivals &= types[tails] == types[answers[rows]]
        bar = target.cpu()[rows]
        chosen = (rivals & (scores > bar), rivals & (scores >= bar), rivals)
        above, at_least, all_ = (torch.bincount(rows[c], minlength=len(answers)) for c in chosen)
        return above, at_least, all_


def _check_finite(scores: Tensor, rows: _Rows, queries: EvalQueries) -> None:
    # One sum a row is far cheaper than a look at each score; finite scores may overflow it.
    if bool(torch.isfinite(scores.sum(1)).all()):
        return
    bad = ~torch.isfinite(scores).all(1)
    if not bool(bad.any()):
        return
    row = int(bad.nonzero()[0, 0])
    value = float(scores[row][~torch.isfinite(scores[row])][0])
    query = queries.describe(int(rows.order[rows.starts[row]]))
    raise NumericError(
        f"the model scores {query} with {value}: ranks of such scores mean nothing. "
        "The training has diverged; train again with a smaller learning rate"
    )
