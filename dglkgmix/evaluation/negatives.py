"""False triples for calibration, and the scores of true and false ones side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.evaluation.queries import EvalQueries, evaluation_queries
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.scorer import Scorer

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.index import TripleIndex

ROUNDS = 20
BATCH = 1024


@dataclass(frozen=True)
class LabelledScores:
    """Scores of N triples, which of them are true, and the tail-relation degree they stand for.

    A sampled false triple stands for the degree of the true one it was drawn for, so that each
    bin holds as many of either kind; a given false triple stands for its own.
    """

    scores: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    degrees: np.ndarray[Any, Any]


def labelled_scores(
    scorer: Scorer,
    kg: KnowledgeGraph,
    split: str,
    table: RankTable,
    *,
    seed: int = 0,
    false_triples: Tensor | None = None,
) -> LabelledScores:
    """True triples of a split against false ones, in both directions.

    Args:
        scorer: the model.
        kg: its graph.
        split: ``valid`` or ``test``.
        table: the ranks of that split, which hold the scores of the true triples.
        seed: of the sampled false triples.
        false_triples: (N, 3) ids of given false triples, in place of sampled ones, which are none
            of those that filtered ranks of the split leave out.
    """
    degrees = table["tail_relation"]
    if false_triples is None:
        queries = evaluation_queries(kg, split)
        generator = torch.Generator().manual_seed(seed)
        tails = draw_negatives(
            queries, kg.filter_index(split), kg.num_entities, generator, kg.node_types
        )
        found = tails >= 0
        heads, relations, tails = queries.heads[found], queries.relations[found], tails[found]
        false_degrees = degrees[found.numpy()]
    else:
        heads, relations, tails = _both_directions(false_triples, kg.num_relations)
        false_degrees = kg.degrees.tail_relation(tails, relations).numpy()
    scores = score_triples(scorer, heads, relations, tails)
    return LabelledScores(
        scores=np.concatenate([table["score"], scores]),
        labels=np.arange(len(table) + len(scores)) < len(table),
        degrees=np.concatenate([degrees, false_degrees]),
    )


def draw_negatives(
    queries: EvalQueries,
    known: TripleIndex,
    num_entities: int,
    generator: torch.Generator,
    node_types: Tensor | None = None,
) -> Tensor:
    """(Q,) one entity for each query, uniform over those that are not known answers.

    With (E,) node types only entities of the answer's type are drawn. −1 where none is left.
    """
    types = torch.zeros(num_entities, dtype=torch.long) if node_types is None else node_types
    pool = torch.argsort(types, stable=True)
    sizes = torch.bincount(types)
    size, first = sizes[types[queries.answers]], (sizes.cumsum(0) - sizes)[types[queries.answers]]
    drawn = torch.full((len(queries),), -1)
    todo = torch.arange(len(queries))
    for _ in range(ROUNDS):
        pick = (torch.rand(len(todo), generator=generator, dtype=torch.float64) * size[todo]).long()
        entity = pool[first[todo] + pick]
        bad = known.contains(queries.heads[todo], queries.relations[todo], entity)
        drawn[todo[~bad]] = entity[~bad]
        todo = todo[bad]
    for index in todo.tolist():
        candidates = pool[first[index] : first[index] + size[index]]
        drawn[index] = _draw_left(queries, known, index, candidates, generator)
    return drawn


def _draw_left(
    queries: EvalQueries,
    known: TripleIndex,
    index: int,
    candidates: Tensor,
    generator: torch.Generator,
) -> int:
    """Nearly every entity is a known answer: list the rest and draw from it."""
    one = slice(index, index + 1)
    taken = known.contains(queries.heads[one], queries.relations[one], candidates)
    left = candidates[~taken]
    if not len(left):
        return -1
    return int(left[torch.randint(len(left), (1,), generator=generator)])


def score_triples(
    scorer: Scorer, heads: Tensor, relations: Tensor, tails: Tensor
) -> np.ndarray[Any, Any]:
    """(N,) float32 scores of triples, reciprocal relations included."""
    scores = np.empty(len(heads), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(heads), BATCH):
            part = slice(start, start + BATCH)
            query = scorer.query(heads[part], relations[part])
            scores[part] = scorer.gather(query, tails[part, None])[:, 0].cpu().numpy()
    return scores


def _both_directions(triples: Tensor, num_relations: int) -> tuple[Tensor, Tensor, Tensor]:
    head, relation, tail = triples.unbind(1)
    return (
        torch.cat([head, tail]),
        torch.cat([relation, relation + num_relations]),
        torch.cat([tail, head]),
    )
