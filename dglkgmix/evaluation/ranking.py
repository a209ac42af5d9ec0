"""Filtered ranks in one blockwise pass over queries × entities (method, Evaluation).

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
from dglkgmix.evaluation.grouping import Pairs
from dglkgmix.evaluation.known_answers import KnownAnswers
from dglkgmix.evaluation.queries import EvalQueries
from dglkgmix.evaluation.scorer import Scorer
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
    processes: Processes = ALONE,
) -> Ranks:
    """Rank the answer of each query among the entities that are not known answers themselves.

    Neither ``block`` nor the number of processes changes a rank, where the scorer keeps what
    :class:`~dglkgmix.evaluation.scorer.Scorer` asks of it.

    Args:
        scorer: the model.
        queries: Q queries with answers.
        known: every known triple, both directions; each is removed once, the answer never.
        block: scores held at once (and as many comparisons).
        candidates: (E,) node types; only entities of the answer's type are its rivals.
        processes: those that have this model and call with the same arguments; each ranks its
            part of the queries, and all get all ranks.

    Raises:
        NumericError: a score is not finite; the message names the query.
        ConfigError: ``block`` is below 1.
    """
    if block < 1:
        raise ConfigError(f"block must be at least 1, not {block}: it is the scores held at once")
    with torch.no_grad():
        return _Counter(scorer, queries, known, block, candidates).ranks(processes)


class _Counter:
    """Counts, for each query, the entities above and at least at the answer's score."""

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
        self.rows = block // self.width
        self.score = torch.zeros(len(queries), dtype=torch.float32)
        self.above, self.at_least, self.removed = torch.zeros((3, len(queries)), dtype=torch.long)
        self.verdict: Tensor | None = None

    def ranks(self, processes: Processes) -> Ranks:
        runs = Pairs.group(self.queries).blocks(RUN)
        with processes.together():
            for run in islice(runs, processes.index, None, processes.size):
                query = self.scorer.query(run.heads, run.relations)
                rows = zip(run.blocks(self.rows), torch.split(query, self.rows), strict=True)
                for block, part in rows:
                    self._count(block, part)
        processes.add_up(self.score, self.above, self.at_least, self.removed)
        # Known answers were taken off with the answer among them, where it is known; it stays.
        q = self.queries
        own = self.known.contains(q.heads, q.relations, q.answers).long()
        optimistic, pessimistic = 1 + self.above, self.at_least + own
        return Ranks(
            score=self.score,
            rank=(optimistic + pessimistic).double() / 2,
            optimistic=optimistic,
            pessimistic=pessimistic,
            candidates=self._pool() - self.removed + own,
        )

    def _pool(self) -> Tensor:
        """(Q,) candidates before filtering."""
        if self.types is None:
            return torch.full((len(self.queries),), self.scorer.num_entities)
        return torch.bincount(self.types)[self.types[self.queries.answers]]

    def _count(self, pairs: Pairs, query: Tensor) -> None:
        slices = _Slices(self, pairs, query)
        asked = pairs.queries
        for start, scores in slices:
            self._read_answers(asked, pairs.rows, start, scores)
        known = KnownAnswers(self.known, pairs, self.queries.answers[asked], self.types)
        target = self.score[asked]
        for start, scores in slices:
            self._compare(pairs, start, scores)
            above, at_least, all_ = known.count(scores, start, target)
            self.above[asked] -= above
            self.at_least[asked] -= at_least
            self.removed[asked] += all_

    def _read_answers(self, asked: Tensor, rows: Tensor, start: int, scores: Tensor) -> None:
        answers = self.queries.answers[asked]
        inside = (answers >= start) & (answers < start + scores.shape[1])
        at = rows[inside].to(scores.device), (answers[inside] - start).to(scores.device)
        self.score[asked[inside]] = scores[at].cpu()

    def _compare(self, pairs: Pairs, start: int, scores: Tensor) -> None:
        """Count against one answer of each row at a time, so that no score is copied."""
        columns = self._type_columns(start, scores)
        for asked in pairs.rounds():
            target = self.score[asked].to(scores.device)[:, None]
            part, verdict = scores[: len(asked)], self._verdict(scores)[: len(asked)]
            torch.gt(part, target, out=verdict)
            self.above[asked] += self._sum(verdict, asked, columns)
            torch.ge(part, target, out=verdict)
            self.at_least[asked] += self._sum(verdict, asked, columns)

    def _verdict(self, scores: Tensor) -> Tensor:
        """A buffer for comparisons, of the scores' shape. In float32: its sums are the fastest."""
        if self.verdict is None:
            self.verdict = torch.empty_like(scores)
        return self.verdict[: scores.shape[0], : scores.shape[1]]

    def _type_columns(self, start: int, scores: Tensor) -> Tensor | None:
        """(width, T) 0/1 membership of the slice's entities in the T node types."""
        if self.types is None:
            return None
        types = self.types[start : start + scores.shape[1]]
        columns = torch.nn.functional.one_hot(types, int(self.types.max()) + 1)
        return columns.to(device=scores.device, dtype=torch.float32)

    def _sum(self, verdict: Tensor, asked: Tensor, columns: Tensor | None) -> Tensor:
        """(n,) number of ones in each row; with node types, among those of the answer's type."""
        if columns is None or self.types is None:
            return verdict.sum(1).long().cpu()
        own_type = self.types[self.queries.answers[asked]].to(verdict.device)
        return (verdict @ columns).gather(1, own_type[:, None])[:, 0].long().cpu()


class _Slices:
    """Scores of a block of queries, entity slice by entity slice; kept where one slice is all."""

    def __init__(self, counter: _Counter, pairs: Pairs, query: Tensor) -> None:
        self.counter, self.pairs, self.query = counter, pairs, query
        self.whole: Tensor | None = None

    def __iter__(self) -> Iterator[tuple[int, Tensor]]:
        total, width = self.counter.scorer.num_entities, self.counter.width
        for start in range(0, total, width):
            scores = self.whole if self.whole is not None else self._scores(start, start + width)
            if width == total:
                self.whole = scores
            yield start, scores

    def _scores(self, start: int, stop: int) -> Tensor:
        stop = min(stop, self.counter.scorer.num_entities)
        scores = self.counter.scorer.scores(self.query, start, stop).float()
        # One sum a row is far cheaper than a look at each score; finite scores may overflow it.
        if not bool(torch.isfinite(scores.sum(1)).all()):
            _refuse_infinite(scores, self.pairs, self.counter.queries)
        return scores


def _refuse_infinite(scores: Tensor, pairs: Pairs, queries: EvalQueries) -> None:
    bad = ~torch.isfinite(scores)
    if not bool(bad.any()):
        return
    row = int(bad.any(1).nonzero()[0, 0])
    query = queries.describe(int(pairs.order[pairs.starts[row]]))
    raise NumericError(
        f"the model scores {query} with {float(scores[row][bad[row]][0])}: "
        "no rank can be told from scores that are not finite. Has the training diverged?"
    )
