from __future__ import annotations

import torch
from hypothesis import given, settings

from dglkgmix.evaluation.popularity import PopularityScorer, better_bins
from tests.evaluation.graphs import graphs, library


@given(graph=graphs())
@settings(max_examples=30, deadline=None)
def test_scores_are_tail_relation_degrees_whatever_the_head(graph):
    scorer = PopularityScorer(library(graph))
    relations = torch.arange(2 * graph.R).repeat(2)
    found = scorer.scores(scorer.query(torch.zeros_like(relations), relations), 0, graph.E)
    expected = [[graph.d_tail(v, r) for v in range(graph.E)] for r in relations.tolist()]
    assert found.tolist() == expected


def test_bins_where_popularity_is_better() -> None:
    popular = {name: {"queries": 2, "mrr": mrr} for name, mrr in (("zero", 0.1), ("low", 0.4))}
    own = {"zero": {"mrr": 0.1}, "low": {"mrr": 0.3}, "high": {"mrr": None}}
    assert better_bins(popular | {"high": {"queries": 0, "mrr": None}}, own) == {"low": 0.4}
