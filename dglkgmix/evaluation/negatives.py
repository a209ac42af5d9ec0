"""False triples for calibration, from a file or drawn, and scores of true and false ones."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.evaluation.model_scorer import Scorer
from dglkgmix.evaluation.queries import EvalQueries, evaluation_queries, queries_of
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.readers import read_triples

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.index import TripleIndex

ROUNDS = 20
BATCH = 1024
_log = logging.getLogger(__name__)


def read_false_triples(
    path: str | Path, kg: KnowledgeGraph, options: ReadOptions | None = None
) -> Tensor:
    """(N, 3) ids of the distinct triples of a file, in any format that triples are read from.

    Triples that a split of the graph holds are left out, with a warning. Of ``options``, which
    are of the graph's own files, ``strip`` and ``normalize`` are used.

    Raises:
        DataError: a file that cannot be read or holds no false triple.
        UnknownNameError: a name that the graph lacks.
    """
    graph = options or ReadOptions()
    names = ReadOptions(strip=graph.strip, normalize=graph.normalize)
    heads, relations, tails = read_triples(path, options=names).columns()
    try:
        columns = (kg.entities.ids(heads), kg.relations.ids(relations), kg.entities.ids(tails))
    except UnknownNameError as error:
        raise UnknownNameError(f"{path}: {error}") from None
    triples: Tensor = torch.unique(torch.stack(columns, dim=1), dim=0)
    true = kg.known_index.contains(*triples.unbind(1))
    if true.any():
        _log.warning(
            "%s: %s of %s triples are true in this graph and are left out",
            path,
            f"{int(true.sum()):,}",
            f"{len(triples):,}",
        )
    if true.all():
        raise DataError(f"{path}: no false triples")
    return triples[~true]


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
    """True triples of a split, whose scores its ranks ``table`` holds, against false ones, in both
    directions.

    ``false_triples`` are (N, 3) ids; None samples some by ``seed``, none of them among those that
    filtered ranks of the split leave out.
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
        queries = queries_of(kg, false_triples)
        heads, relations, tails = queries.heads, queries.relations, queries.answers
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
    """(Q,) an entity for each query, uniform over those that are no known answers; −1 for none.

    With (E,) node types only entities of the answer's type are drawn.
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
    for index in todo.tolist():  # nearly every entity is a known answer: the others are listed
        pair = queries.heads[index], queries.relations[index]
        left = pool[first[index] : first[index] + size[index]]
        left = left[~known.contains(*pair, left)]
        if len(left):
            drawn[index] = left[torch.randint(len(left), (1,), generator=generator)]
    return drawn


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
