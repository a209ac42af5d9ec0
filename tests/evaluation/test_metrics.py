from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.errors import ConfigError
from dglkgmix.evaluation import metrics
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation import plain
from tests.evaluation.conftest import table_of
from tests.evaluation.graphs import graphs, library

EMPTY = dict.fromkeys(("mrr", "mr", "hits@1", "hits@3", "hits@10", "amri")) | {"queries": 0}


@st.composite
def ranked(draw):
    """A graph with a rank for each query: (graph, ranks)."""
    graph = draw(graphs())
    count = 2 * len(graph.test)
    ranks = draw(st.lists(st.integers(2, 24), min_size=count, max_size=count))
    return graph, [rank / 2 for rank in ranks]


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if value is None:
            assert found[name] is None
        else:
            assert found[name] == pytest.approx(value, abs=1e-12), name


def expected_of(graph, ranks, chosen):
    return plain.metrics([(ranks[i], graph.E) for i in chosen])


@given(case=ranked())
@settings(max_examples=60, deadline=None)
def test_every_grouping_is_that_of_plain_loops(case):
    graph, ranks = case
    table, queries = table_of(library(graph), ranks), graph.queries("test")
    everything = range(len(queries))
    rows = len(graph.test)
    same(metrics.overall(table), expected_of(graph, ranks, everything))
    directions = metrics.by_direction(table)
    same(directions["tail"], expected_of(graph, ranks, range(rows)))
    same(directions["head"], expected_of(graph, ranks, range(rows, 2 * rows)))
    found = metrics.by_bin(table, DegreeBins((1, 2, 4)))
    assert list(found) == ["[0,1)", "[1,2)", "[2,4)", "[4,inf)"]
    for index, name in enumerate(found):
        members = [
            i
            for i, (_, r, t) in enumerate(queries)
            if plain.bin_of(graph.d_tail(t, r), (1, 2, 4)) == index
        ]
        same(found[name], expected_of(graph, ranks, members))
    for name, group in metrics.by_relation(table).items():
        members = [i for i in everything if f"r{queries[i][1] % graph.R}" == name]
        same(group, expected_of(graph, ranks, members))
    members = [i for i in everything if 0 in (queries[i][0], queries[i][2])]
    found = metrics.by_age(table, {"e0"})
    same(found["new"], expected_of(graph, ranks, members))
    others = [i for i in everything if i not in members]
    same(found["old"], expected_of(graph, ranks, others))


@given(case=ranked())
@settings(max_examples=40, deadline=None)
def test_macro_averages_are_means_of_groups_means(case):
    graph, ranks = case
    table, queries = table_of(library(graph), ranks), graph.queries("test")
    for over, key in (
        ("queries", lambda q: q[:2]),
        ("relations", lambda q: q[1] % graph.R),
    ):
        groups = {}
        for query, rank in zip(queries, ranks, strict=True):
            groups.setdefault(key(query), []).append(rank)
        found = metrics.macro(table, over)
        assert found["groups"] == len(groups)
        assert found["queries"] == len(queries)
        for name, value in (
            ("mrr", plain.mean(plain.mean(1 / r for r in g) for g in groups.values())),
            ("mr", plain.mean(plain.mean(g) for g in groups.values())),
            ("hits@3", plain.mean(plain.mean(r <= 3 for r in g) for g in groups.values())),
        ):
            assert found[name] == pytest.approx(value)


@given(case=ranked())
@settings(max_examples=40, deadline=None)
def test_degrees_of_any_kind_and_the_joint_grid(case):
    graph, ranks = case
    table, queries = table_of(library(graph), ranks), graph.queries("test")
    bins = DegreeBins((1, 3))

    def members(degree, index):
        return [i for i, q in enumerate(queries) if plain.bin_of(degree(q), (1, 3)) == index]

    def other(query):
        return graph.d_in(query[2]) - graph.d_tail(query[2], query[1])

    def tail_relation(query):
        return graph.d_tail(query[2], query[1])

    degrees = {
        "head_in": lambda q: graph.d_in(q[0]),
        "tail_out": lambda q: graph.d_out(q[2]),
        "other_relation": other,
    }
    for column, degree in degrees.items():
        found = metrics.by_degree(table, column, bins)
        for index, group in enumerate(found.values()):
            chosen = members(degree, index)
            same(group, expected_of(graph, ranks, chosen))
    found = metrics.joint(table, bins, bins)
    for i in range(3):
        for j in range(3):
            chosen = set(members(tail_relation, i)) & set(members(other, j))
            assert found["queries"][i][j] == len(chosen)
            expected = plain.mean(1 / ranks[q] for q in chosen)
            assert found["mrr"][i][j] == (expected and pytest.approx(expected))


def test_means_are_over_queries(toy, make_ranks):
    """Case 2: ranks 1, 1, 4 (and one of 2 here)."""
    table = make_ranks(toy, [1, 1, 4, 2]).select(np.array([0, 1, 2]))
    found = metrics.overall(table)
    assert (found["mrr"], found["mr"], found["queries"]) == (0.75, 2.0, 3)


def test_head_and_tail_apart_and_together():
    """Case 17: head rank 2, tail rank 1."""
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], None, [(0, 0, 1)], entities=3)
    table = table_of(kg, [1, 2])
    assert metrics.by_direction(table)["head"]["mrr"] == 0.5
    assert metrics.by_direction(table)["tail"]["mrr"] == 1.0
    assert metrics.overall(table)["mrr"] == 0.75


def test_with_single_candidates_the_index_says_nothing():
    kg = KnowledgeGraph.from_arrays([(0, 0, 0)], None, [(0, 0, 0)], entities=1)
    assert metrics.overall(table_of(kg, [1, 1]))["amri"] is None


def test_an_empty_table_has_no_figures(toy):
    kg = KnowledgeGraph.from_arrays(toy.train, entities=5, relations=3)
    table = table_of(kg, [])
    assert metrics.overall(table) == EMPTY
    assert metrics.macro(table, "queries") == EMPTY | {"groups": 0}
    assert metrics.by_relation(table) == {}


def test_relation_classes():
    """Averages from 1.5 on are "many", counted over distinct training triples."""
    rows = [
        *[(0, 0, 1), (2, 0, 3), (2, 0, 3)],  # 1-1; a duplicate counts once
        *[(0, 1, 1), (0, 1, 2), (3, 1, 3)],  # heads 0 and 3 have 2 and 1 tails: 1.5
        *[(1, 2, 0), (2, 2, 0)],  # two heads, one tail
        *[(0, 3, 0), (0, 3, 1), (1, 3, 0), (1, 3, 1)],
    ]
    kg = KnowledgeGraph.from_arrays(rows, None, [(0, 1, 3), (0, 4, 1)], relations=list("abcde"))
    classes = metrics.relation_classes(kg)
    assert classes == {"a": "1-1", "b": "1-n", "c": "n-1", "d": "n-n", "e": "unseen"}
    table = table_of(kg, [1, 2, 4, 5])
    found = metrics.by_relation_class(table, classes)
    assert list(found) == ["1-n head", "1-n tail", "unseen head", "unseen tail"]
    assert [group["mr"] for group in found.values()] == [4, 1, 5, 2]


class TestFurtherMetrics:
    """Ranks 1, 2 and 6: Hits@5 is 2/3 and the median 2."""

    median = metrics.Metric(
        "median", "median rank", lambda ranks: ranks, np.median, style="{:,.1f}", low_is_good=True
    )

    def test_one_entry_is_all(self) -> None:
        ranks = np.array([1.0, 2.0, 6.0])
        values = {"hits@5": metrics.hits(5).values(ranks), "median": ranks}
        with metrics.further([metrics.hits(5), self.median]):
            found = metrics._summaries(values, np.array([0, 0, 0]), 2)
            assert [m.title for m in metrics.columns()] == [
                *("MRR", "Hits@1", "Hits@3", "Hits@10", "Hits@5", "mean rank", "median rank")
            ]
        assert found["hits@5"].tolist() == [pytest.approx(2 / 3), 0.0]
        assert found["median"].tolist() == [2.0, 0.0]
        assert list(metrics.METRICS) == ["mrr", "mr", "hits@1", "hits@3", "hits@10"]

    @pytest.mark.parametrize("name", ["mr", "expected"])
    def test_a_name_that_is_taken_is_refused(self, name: str) -> None:
        taken = metrics.further([metrics.hits(5), replace(self.median, name=name)])
        with pytest.raises(ConfigError, match=f"there is a metric '{name}' already"), taken:
            pass
        assert "hits@5" not in metrics.METRICS

    def test_a_path_that_is_no_metric(self) -> None:
        with pytest.raises(ConfigError, match=r"dglkgmix.errors:ConfigError is not a .*Metric"):
            metrics.metric_named("dglkgmix.errors:ConfigError")

    @pytest.mark.parametrize("wrong", [lambda r: None, lambda r: r[:2], lambda r: r.astype(str)])
    def test_values_that_are_not_one_number_for_each_rank_are_refused(self, wrong) -> None:
        with pytest.raises(ConfigError, match="metric 'median': its values for 3 ranks are of"):
            replace(self.median, values=wrong).of(np.array([1.0, 2.0, 6.0]))
