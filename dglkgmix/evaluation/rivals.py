"""How much of a query's softmax is left to the answers that the data do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dglkgmix.errors import NumericError
from dglkgmix.evaluation.ranking import BLOCK, RUN
from dglkgmix.evaluation.scorer import Scorer
from dglkgmix.evaluation.shortlist import candidates

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


def new_scores(
    scorer: Scorer, kg: KnowledgeGraph, heads: Tensor, relations: Tensor
) -> Iterator[tuple[slice, Tensor]]:
    """Scores of the answers of Q queries that no split holds, a block of queries at a time.

    Yields the block's rows among the queries and its scores (B, E) on the CPU in float32: −inf for
    known answers, and for entities of a node type that the relation never leads to in training.

    Raises:
        NumericError: a score is not finite.
    """
    size = max(1, min(RUN, BLOCK // kg.num_entities))
    for start in range(0, len(heads), size):
        rows = slice(start, start + size)
        asked = heads[rows], relations[rows]
        with torch.no_grad():
            scores = scorer.scores(scorer.query(*asked), 0, kg.num_entities).float().cpu()
        if not bool(torch.isfinite(scores).all()):
            raise NumericError("the model's scores are not all finite: has the training diverged?")
        left = candidates(kg, asked[1])
        left[kg.known_index.tails_of(*asked)] = False
        yield rows, scores.masked_fill_(~left, -torch.inf)


def rivals(scorer: Scorer, kg: KnowledgeGraph, heads: Tensor, relations: Tensor) -> Tensor:
    """(Q,) float64: the logarithm of Σ exp(score) over each query's answers that are new.

    A known fact's score less this is the log odds that softmax gives it against them.
    """
    found = torch.empty(len(heads), dtype=torch.float64)
    for rows, scores in new_scores(scorer, kg, heads, relations):
        found[rows] = scores.double().logsumexp(1)
    return found
