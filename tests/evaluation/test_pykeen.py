"""Against PyKEEN's evaluator on the same scores: three tie rules, both directions, by direction."""

from __future__ import annotations

import warnings

import pytest
import torch

from dglkgmix.evaluation import metrics
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.stand_ins import TableScorer

# PyKEEN's names of our metrics.
NAMES = {
    "mrr": "inverse_harmonic_mean_rank",
    "mr": "arithmetic_mean_rank",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
    "amri": "adjusted_arithmetic_mean_rank_index",
}
SIDES = {"both": None, "head": "head", "tail": "tail"}


@pytest.fixture(scope="module")
def case():
    generator = torch.Generator().manual_seed(5)
    rows = torch.randint(0, 120, (400, 3), generator=generator) % torch.tensor([40, 3, 40])
    kg = KnowledgeGraph.from_arrays(rows[:250], rows[250:300], rows[300:], entities=40, relations=3)
    # Few distinct values, so that a good part of the scores tie.
    table = torch.randint(0, 30, (6, 40, 40), generator=generator).float()
    return kg, table


@pytest.fixture(scope="module")
def theirs(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pykeen.evaluation import RankBasedEvaluator

        kg, table = case
        evaluator = RankBasedEvaluator(filtered=True)
        known = set(map(tuple, torch.cat([kg.train, kg.valid, kg.test]).tolist()))
        for side in ("head", "tail"):
            evaluator.process_scores_(kg.test, side, *filtered(kg, table, side, known))
        results = evaluator.finalize()
        return {
            (side, ties, ours): results.get_metric(f"{side}.{ties}.{name}")
            for side in SIDES
            for ties in metrics.TIES
            for ours, name in NAMES.items()
            # PyKEEN adjusts the realistic mean rank alone
            if ours != "amri" or ties == "realistic"
        }


def filtered(kg, table, side, known):
    """Scores with known answers but the triple's own at NaN, as PyKEEN wants them, and its own."""
    scores, own = [], []
    for h, r, t in kg.test.tolist():
        row = (table[r, h] if side == "tail" else table[r + kg.num_relations, t]).clone()
        answer = t if side == "tail" else h
        own.append([float(row[answer])])
        for entity in range(kg.num_entities):
            triple = (h, r, entity) if side == "tail" else (entity, r, t)
            if entity != answer and triple in known:
                row[entity] = torch.nan
        scores.append(row)
    return torch.stack(scores), torch.tensor(own)


@pytest.fixture(scope="module")
def ours(case):
    kg, scores = case
    queries = evaluation_queries(kg, "test")
    ranks = rank(TableScorer(scores), queries, kg.known_index, block=500)
    table = RankTable.from_ranks(kg, queries, ranks)
    parts = {
        "both": table,
        "head": table.select(table.asks_head),
        "tail": table.select(~table.asks_head),
    }
    return {
        (side, ties, name): metrics.overall(part, ties)[name]
        for side, part in parts.items()
        for ties in metrics.TIES
        for name in NAMES
    }


def test_all_figures_agree(ours, theirs):
    assert len(theirs) == 3 * (3 * 5 + 1)
    different = {
        key: (ours[key], value) for key, value in theirs.items() if abs(ours[key] - value) > 1e-6
    }
    assert not different


def test_the_scores_do_tie(ours):
    assert ours["both", "optimistic", "mrr"] - ours["both", "pessimistic", "mrr"] > 0.03
