"""Shortlists: the first candidates of a query (docs/numbers.md, Probability of a ranked answer)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.errors import DIVERGED, NumericError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.ranking import BLOCK, RUN
from dglkgmix.evaluation.shared_answers import shared_answers

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.index import TripleIndex

Array = np.ndarray[Any, Any]
# Places of a list: probabilities are fitted on so many, and there are none for later places.
DEPTH = 20


@dataclass(frozen=True)
class Shortlists:
    """The best candidates of Q queries, best first; K = min(DEPTH, E) places.

    Attributes:
        relations: (Q,) the queries' relations, reciprocal ones included.
        known: (Q,) number of known answers, which are no candidates.
        entities: (Q, K) ids; equal scores come in the order of ids.
        scores: (Q, K) float64; −inf at places for which no candidate is left.
        degrees: (Q, K) tail-relation degree of each candidate.
        shared: (Q, K, 2) how much known answers speak for it, see
            :class:`dglkgmix.evaluation.shared_answers.SharedAnswers`.
    """

    relations: Array
    known: Array
    entities: Array
    scores: Array
    degrees: Array
    shared: Array

    @property
    def filled(self) -> Array:
        """(Q, K) bool: places that hold a candidate."""
        return np.isfinite(self.scores)

    def rows(self, chosen: Array) -> Shortlists:
        """The lists of some queries: (Q,) bool, ids or a slice."""
        return Shortlists(*(column[chosen] for column in vars(self).values()))


def shortlists(
    kg: KnowledgeGraph,
    known: TripleIndex,
    heads: Tensor,
    relations: Tensor,
    scores: Tensor,
    *,
    candidates: Candidates,
) -> Shortlists:
    """From the scores (Q, E) of Q queries; ``known`` answers are left out."""
    rows, tails = known.tails_of(heads, relations)
    left = candidates.mask(relations, 0, kg.num_entities)
    left[rows, tails] = False
    scores = scores.cpu().masked_fill(~left, -torch.inf)
    places = best_places(scores, min(DEPTH, scores.shape[1]))
    return Shortlists(
        relations=relations.numpy(),
        known=rows.bincount(minlength=len(heads)).numpy(),
        entities=places.numpy(),
        scores=scores.gather(1, places).double().numpy(),
        degrees=kg.degrees.tail_relation(places, relations[:, None]).numpy(),
        shared=shared_answers(known).of(heads.numpy(), relations.numpy(), places.numpy()),
    )


def make_shortlists(
    scorer: Scorer,
    kg: KnowledgeGraph,
    known: TripleIndex,
    heads: Tensor,
    relations: Tensor,
    *,
    candidates: Candidates,
) -> Shortlists:
    """:func:`shortlists` of Q queries; scores are held for a block of them at a time.

    Raises:
        NumericError: a score is not finite.
    """
    size = max(1, min(RUN, BLOCK // kg.num_entities))
    # What known answers say is computed by relation: a block holds few of them.
    order = torch.argsort(relations, stable=True)
    heads, relations = heads[order], relations[order]
    parts = []
    with torch.no_grad():
        for asked in zip(torch.split(heads, size), torch.split(relations, size), strict=True):
            scores = scorer.scores(scorer.query(*asked), 0, kg.num_entities)
            if not torch.isfinite(scores).all():
                raise NumericError(f"the model's scores are not all finite: {DIVERGED}")
            parts.append(shortlists(kg, known, *asked, scores, candidates=candidates))
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Shortlists(*map(np.concatenate, columns)).rows(torch.argsort(order).numpy())


def read_shortlists(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    candidates: Candidates | None = None,
    asked: TripleIndex | None = None,
) -> tuple[Shortlists, Array]:
    """The list of each distinct query of a split, and which candidates the split holds.

    Training facts are left out; for the test split validation facts, too. So a candidate of the
    validation split counts as wrong where only the test split has it. ``candidates`` None are the
    default of :meth:`~dglkgmix.evaluation.candidates.Candidates.of`. The queries of ``asked`` take
    the place of the split's.

    Returns:
        The lists of the Q queries, and (Q, K) bool.
    """
    held = kg.index_of(kg.split(split))
    asked = asked or held
    known = kg.train_index if split == "valid" else kg.steering_index
    among = candidates or Candidates.of(kg)
    lists = make_shortlists(scorer, kg, known, asked.heads, asked.relations, candidates=among)
    entities = torch.from_numpy(lists.entities)
    true = held.contains(asked.heads[:, None], asked.relations[:, None], entities).numpy()
    return lists, true & lists.filled


def best_places(scores: Tensor, count: int) -> Tensor:
    """(Q, count) columns of the greatest scores (Q, E), equal ones in their order."""
    if not count:
        return torch.empty(len(scores), 0, dtype=torch.long)
    found = scores.topk(min(count + 1, scores.shape[1]))
    least, places = found.values[:, count - 1 : count], found.indices[:, :count]
    # Where one more column than wanted reaches the least of them, topk may have taken any of these.
    tied = (found.values[:, count:] == least).nonzero()[:, 0]
    if len(tied):
        above, level = scores[tied] > least[tied], scores[tied] == least[tied]
        wanted = above | (level & (level.cumsum(1) <= count - above.sum(1, keepdim=True)))
        places[tied] = wanted.nonzero()[:, 1].view(len(tied), count)
    places = places.sort(dim=1).values
    order = scores.gather(1, places).sort(dim=1, descending=True, stable=True).indices
    return places.gather(1, order)
