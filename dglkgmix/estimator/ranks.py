"""Ranks and degrees of triples that may hold names which training has never seen."""

from __future__ import annotations

import numpy as np
import torch

from dglkgmix.estimator.columns import Array
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.queries import queries_of
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kg.graph import KnowledgeGraph


def filtered_ranks(
    scorer: ModelScorer,
    kg: KnowledgeGraph,
    triples: Array,
    candidates: Candidates | None = None,
) -> Array:
    """Realistic filtered ranks (n, 2) of triples (n, 3): of the tail, then of the head.

    A triple with an id of -1 is ranked as if all its candidates, the known entities and its own,
    scored the same: in the middle of them. ``candidates`` None are all entities.
    """
    seen = (triples >= 0).all(1)
    ranks = np.empty((len(triples), 2))
    rows = torch.from_numpy(triples[seen])
    index = kg.index_of(kg.train, kg.valid, kg.test, rows)
    found = rank(scorer, queries_of(kg, rows), index, candidates=candidates)
    ranks[seen] = found.rank.view(2, -1).T.numpy()
    for side, answer in enumerate((2, 0)):
        unknown_answer = triples[~seen][:, answer] < 0
        ranks[~seen, side] = (kg.num_entities + unknown_answer + 1) / 2
    return ranks


def degrees(kg: KnowledgeGraph, triples: Array) -> Array:
    """Tail-relation degrees (n, 2) of the tail and the head query; 0 where a name is unknown."""
    known = torch.from_numpy((triples >= 0).all(1))
    found = torch.zeros((len(triples), 2), dtype=torch.long)
    ids = torch.from_numpy(triples)[known]
    for side, queries in enumerate((ids, kg.reciprocate(ids, kg.num_relations))):
        found[known, side] = kg.degrees.tail_relation(queries[:, 2], queries[:, 1])
    return found.numpy()
