from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation import ranking
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation import plain
from tests.evaluation.graphs import graphs, library
from tests.evaluation.stand_ins import ProductScorer, TableScorer


def ranked(kg, scorer, split="test", **options):
    return rank(scorer, evaluation_queries(kg, split), kg.known_index, **options)


def constant(kg):
    return TableScorer(torch.zeros(kg.num_query_relations, kg.num_entities, kg.num_entities))


@given(graph=graphs(), data=st.data())
@settings(max_examples=80, deadline=None)
def test_every_rank_is_that_of_plain_loops(graph, data):
    seed = data.draw(st.integers(0, 10_000))
    # Three values only: most scores tie with others.
    table = np.random.default_rng(seed).integers(-1, 2, (2 * graph.R, graph.E, graph.E))
    rule = data.draw(st.sampled_from(["all", "observed", "typed"]))
    kg = library(graph)
    found = ranked(
        kg,
        TableScorer(table),
        block=data.draw(st.sampled_from([1, 2, 7, 1000, 2**24])),
        candidates=None if rule == "all" else Candidates.of(kg, rule),
    )
    allowed = plain.candidates(graph, rule)
    expected = plain.rank_all(graph, "test", lambda h, r: table[r, h].tolist(), allowed)
    columns = (found.rank, found.optimistic, found.pessimistic, found.candidates, found.missed)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert found.score.tolist() == [table[r, h, t] for h, r, t in graph.queries("test")]


@pytest.fixture(scope="module")
def integers():
    """A graph and integer-valued embeddings: every product is exact, many scores tie."""
    generator = torch.Generator().manual_seed(3)
    rows = torch.randint(0, 60, (130, 3), generator=generator) % torch.tensor([15, 4, 15])
    kg = KnowledgeGraph.from_arrays(rows[:80], rows[80:100], rows[100:], entities=15, relations=4)
    entities = torch.randint(-2, 3, (15, 5), generator=generator).float()
    relations = torch.randint(-2, 3, (8, 5), generator=generator).float()
    return kg, entities, relations


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_block_size_changes_no_rank_and_bounds_what_is_held(integers, block):
    kg, entities, relations = integers
    scorer = ProductScorer(entities, relations)
    found, whole = ranked(kg, scorer, block=block), ranked(kg, ProductScorer(entities, relations))
    for name in ("score", "rank", "optimistic", "pessimistic", "candidates"):
        assert torch.equal(getattr(found, name), getattr(whole, name))
    assert max(scorer.widths) <= block


def test_the_order_of_ids_changes_no_rank(integers):
    kg, entities, relations = integers
    order = torch.randperm(15, generator=torch.Generator().manual_seed(0))
    new = torch.empty_like(order)
    new[order] = torch.arange(15)

    def moved(rows):
        return torch.stack([new[rows[:, 0]], rows[:, 1], new[rows[:, 2]]], 1)

    permuted = KnowledgeGraph.from_arrays(
        *(moved(kg.split(s)) for s in ("train", "valid", "test")), entities=15, relations=4
    )
    for block in (1, 7, 1000):
        found = ranked(permuted, ProductScorer(entities[order], relations), block=block)
        assert torch.equal(found.rank, ranked(kg, ProductScorer(entities, relations)).rank)


def test_real_valued_scores_give_the_same_mrr_for_any_block():
    generator = torch.Generator().manual_seed(1)
    rows = torch.randint(0, 60, (90, 3), generator=generator) % torch.tensor([20, 3, 20])
    kg = KnowledgeGraph.from_arrays(rows[:60], None, rows[60:], entities=20, relations=3)
    scorer = ProductScorer(
        torch.randn(20, 32, generator=generator), torch.randn(6, 32, generator=generator)
    )
    mrr = [float((1 / ranked(kg, scorer, block=b).rank).mean()) for b in (2, 7, 1000, 2**24)]
    assert mrr == pytest.approx([mrr[0]] * 4, abs=1e-6)


def test_scores_that_another_query_needs_are_computed_once():
    """Case of a hub: one (head, relation) with ten answers in test."""
    rows = [(0, 0, t) for t in range(1, 11)]
    kg = KnowledgeGraph.from_arrays([(0, 0, 11)], None, rows, entities=12)
    scorer = ProductScorer(torch.ones(12, 2), torch.ones(2, 2))
    ranked(kg, scorer)
    assert sum(scorer.widths) == (1 + 10) * 12  # ten heads are asked for besides


def test_a_constant_scorer_is_in_the_middle():
    """Case 3: five entities, nothing filtered, whatever the order of ids."""
    for head, tail in ((0, 1), (4, 2)):
        kg = KnowledgeGraph.from_arrays([(0, 1, 0)], None, [(head, 0, tail)], entities=5)
        found = ranked(kg, constant(kg))
        assert found.rank.tolist() == [3, 3]
        assert (found.optimistic.tolist(), found.pessimistic.tolist()) == ([1, 1], [5, 5])


def test_known_answers_of_every_split_are_filtered():
    """Case 14: validation's answer outscores the test answer, which is first all the same."""
    kg = KnowledgeGraph.from_arrays([(1, 0, 1)], [(0, 0, 2)], [(0, 0, 1)], entities=3)
    table = torch.zeros(2, 3, 3)
    table[0, 0] = torch.tensor([-1.0, 0.0, 5.0])
    found = ranked(kg, TableScorer(table))
    assert found.rank[0] == 1
    assert found.candidates[0] == 2


def test_duplicates_of_a_known_triple_are_filtered_once():
    """Case 15: never below 1, and the same as without the duplicates."""
    known = [(0, 0, 2)]
    kg = KnowledgeGraph.from_arrays(known * 3 + [(0, 0, 1)], known, [(0, 0, 1)], entities=4)
    table = torch.zeros(2, 4, 4)
    table[0, 0] = torch.tensor([0.0, 1.0, 2.0, 3.0])
    found = ranked(kg, TableScorer(table))
    assert (found.rank[0], found.candidates[0]) == (2, 3)


def test_both_directions_of_one_triple():
    """Case 17: head rank 2, tail rank 1."""
    kg = KnowledgeGraph.from_arrays([(2, 1, 2)], None, [(0, 0, 1)], entities=3)
    table = torch.zeros(4, 3, 3)
    table[0, 0] = torch.tensor([0.0, 1.0, 0.0])
    table[2, 1] = torch.tensor([1.0, 0.0, 2.0])
    queries = evaluation_queries(kg, "test")
    found = rank(TableScorer(table), queries, kg.known_index)
    assert dict(zip(queries.direction.tolist(), found.rank.tolist(), strict=True)) == {0: 1, 1: 2}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("block", [2, 1000])
def test_a_score_that_is_not_finite_names_the_query(toy, value, block):
    scorer = constant(toy)
    head, relation = toy.entities.id("d"), toy.relations.id("likes")
    scorer.table[relation, head, toy.entities.id("lone")] = value
    with pytest.raises(NumericError, match=r"\(d, likes, \?\)"):
        ranked(toy, scorer, block=block)


def test_great_scores_whose_sum_overflows_are_ranked():
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], None, [(0, 0, 1)], entities=4)
    scorer = constant(kg)
    scorer.table += 3e38
    assert ranked(kg, scorer).rank.tolist() == [2, 2.5]


def test_a_block_below_one_is_refused(integers):
    kg, entities, relations = integers
    with pytest.raises(ConfigError, match="block"):
        ranked(kg, ProductScorer(entities, relations), block=0)


def test_no_queries_no_ranks(integers):
    kg, entities, relations = integers
    bare = KnowledgeGraph.from_arrays(kg.train, entities=15, relations=4)
    assert len(ranked(bare, ProductScorer(entities, relations)).rank) == 0


def test_half_precision_scores_are_compared_in_float32(integers):
    kg, entities, relations = integers

    class Half(ProductScorer):
        def scores(self, query, start, stop):
            return super().scores(query, start, stop).bfloat16()

    found = ranked(kg, Half(entities, relations))
    assert found.score.dtype == torch.float32


def test_few_entities_do_not_mean_endless_rows(monkeypatch, integers):
    """A convolution's memory grows with rows: at most RUN queries are encoded together."""
    kg, entities, relations = integers
    monkeypatch.setattr(ranking, "RUN", 8)
    scorer = ProductScorer(entities, relations)
    ranked(kg, scorer)
    assert max(scorer.widths) == 8 * 15


@pytest.mark.long
def test_a_million_entities_within_four_gibibytes(run_python):
    found = run_python(
        """
        import resource
        from bench.generated import generated
        from dglkgmix.config import ModelConfig
        from dglkgmix.evaluation.model_scorer import ModelScorer
        from dglkgmix.evaluation.queries import evaluation_queries
        from dglkgmix.evaluation.ranking import rank
        from dglkgmix.models.link_predictor import LinkPredictor
        kg = generated(1_000_000, 100, 300_000, held_out=500)
        options = ModelConfig(
            decoder="distmult", input_dropout=0.2, entity_dim=32, relation_dim=32, bias=False
        )
        scorer = ModelScorer(LinkPredictor.build(options, kg).eval())
        rank(scorer, evaluation_queries(kg, "test"), kg.known_index)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        assert peak < 4 * 2**30, peak
        """
    )
    assert found.returncode == 0, found.stderr
