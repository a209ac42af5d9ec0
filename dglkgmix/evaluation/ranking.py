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
from dglkgmix.evaluation.candidates import Candidates
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
    :class:`~dglkgmix.evaluation.scorer.Scorer` asks of it.

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
    with torch.no_grad():
        found = candidates or Candidates.all(scorer.num_entities, known.num_relations)
        return _Counter(scorer, queries, known, block, found).ranks(processes)


class _Counter:
    """Counts, for each query, the entities above and at least at the answer's score."""

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
        self.verdict: Tensor | None = None

    def ranks(self, processes: Processes) -> Ranks:
        runs = Pairs.group(self.queries).blocks(RUN)
        with processes.together():
            for run in islice(runs, processes.index, None, processes.size):
                query = self.scorer.query(run.heads, run.relations)
                rows = zip(run.blocks(self.rows), torch.split(query, self.rows), strict=True)
                for block, part in rows:
                    self._count(block, part)
        processes.add_up(self.score, self.above, self.at_least)
        q = self.queries
        left, missed = self.candidates.left(self.known, q.heads, q.relations, q.answers)
        # Known answers were taken off with the answer among them, where it is known; it stays.
        own = self.known.contains(q.heads, q.relations, q.answers).long()
        optimistic = torch.where(missed, left, 1 + self.above)
        pessimistic = torch.where(missed, left, self.at_least + own)
        return Ranks(
            score=self.score,
            rank=(optimistic + pessimistic).double() / 2,
            optimistic=optimistic,
            pessimistic=pessimistic,
            candidates=left,
            missed=missed,
        )

    def _count(self, pairs: Pairs, query: Tensor) -> None:
        slices = _Slices(self, pairs, query)
        asked = pairs.queries
        for start, scores in slices:
            self._read_answers(asked, pairs.rows, start, scores)
        known = KnownAnswers(self.known, pairs)
        target = self.score[asked]
        for start, scores in slices:
            among = self._among_candidates(pairs, start, scores)
            self._compare(pairs, among)
            above, at_least = known.count(among, start, target)
            self.above[asked] -= above
            self.at_least[asked] -= at_least

    def _among_candidates(self, pairs: Pairs, start: int, scores: Tensor) -> Tensor:
        """The scores of a slice, −inf for entities that are no candidates: these never count."""
        if self.candidates.everything:
            return scores
        mask = self.candidates.mask(pairs.relations, start, start + scores.shape[1])
        return scores.masked_fill(~mask.to(scores.device), -torch.inf)

    def _read_answers(self, asked: Tensor, rows: Tensor, start: int, scores: Tensor) -> None:
        answers = self.queries.answers[asked]
        inside = (answers >= start) & (answers < start + scores.shape[1])
        at = rows[inside].to(scores.device), (answers[inside] - start).to(scores.device)
        self.score[asked[inside]] = scores[at].cpu()

    def _compare(self, pairs: Pairs, scores: Tensor) -> None:
        """Count against one answer of each row at a time, so that no score is copied."""
        for asked in pairs.rounds():
            target = self.score[asked].to(scores.device)[:, None]
            part, verdict = scores[: len(asked)], self._verdict(scores)[: len(asked)]
            torch.gt(part, target, out=verdict)
            self.above[asked] += verdict.sum(1).long().cpu()
            torch.ge(part, target, out=verdict)
            self.at_least[asked] += verdict.sum(1).long().cpu()

    def _verdict(self, scores: Tensor) -> Tensor:
        """A buffer for comparisons, of the scores' shape. In float32: its sums are the fastest."""
        if self.verdict is None:
            self.verdict = torch.empty_like(scores)
        return self.verdict[: scores.shape[0], : scores.shape[1]]


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
