from collections import Counter

import pytest
import torch

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg.degrees import (
    DegreeBins,
    degree_summary,
    mixing_summary,
    partner_counts,
    query_degrees,
    readable,
)
from dglkgmix.kg.graph import KnowledgeGraph
from tests.graphs import random_graph


@pytest.mark.parametrize("graph", ["toy", "random"])
def test_every_degree_against_a_count_over_tuples(kg, graph):
    kg = kg if graph == "toy" else random_graph(12, 3, 150)
    shift = kg.num_relations
    edges = {(h, r, t) for h, r, t in kg.train.tolist()}
    edges |= {(t, r + shift, h) for h, r, t in edges}
    counts = [sum(q == r for _, q, _ in edges) for r in range(2 * shift)]
    assert kg.degrees.of_relations.tolist() == counts
    for v in range(kg.num_entities):
        assert kg.degrees.of_entities[v] == kg.degrees.in_degree(v)
        assert kg.degrees.in_degree(v) == sum(t == v for _, _, t in edges)
        assert kg.degrees.out_degree(v) == sum(h == v for h, _, _ in edges)
        for r in range(2 * shift):
            tails = sum(t == v and q == r for _, q, t in edges)
            either = sum(v in (h, t) and q == r for h, q, t in edges)
            assert kg.degrees.tail_relation(v, r) == tails
            assert kg.degrees.relation_specific(v, r) == either
            assert kg.degrees.other_relation(v, r) == kg.degrees.in_degree(v) - tails


@pytest.mark.parametrize("size", [(20, 4, 300), (500, 1_000, 3_000)], ids=["few", "thousands"])
def test_edge_degrees_follow_the_edges(size):
    """`bench/loading.py` takes the time of 14,000 edge types."""
    kg = random_graph(*size)
    counts = Counter((r, t) for _, r, t in kg.edges.tolist())
    expected = [counts[r, t] for _, r, t in kg.edges.tolist()]
    assert kg.degrees.edge_tail_relation.tolist() == expected
    keys = {r * size[0] + t: count for (r, t), count in counts.items()}
    assert kg.degrees.pair_keys.tolist() == sorted(keys)
    assert kg.degrees.pair_degrees.tolist() == [keys[key] for key in sorted(keys)]
    assert len(kg.graph.etypes) == 2 * size[1]


def test_shapes_broadcast(kg):
    table = kg.degrees.tail_relation(torch.arange(5)[:, None], torch.arange(6)[None])
    assert table.shape == (5, 6)
    assert table.sum() == kg.num_edges
    assert kg.degrees.in_degree(2).shape == ()


@pytest.mark.parametrize("entity", [-1, 5, [0, 5], [[-1]]])
def test_entities_outside_the_graph(kg, entity):
    """Case 18."""
    degrees = kg.degrees
    for call in (degrees.in_degree, degrees.out_degree):
        with pytest.raises(IndexError):
            call(entity)
    for call in (degrees.tail_relation, degrees.relation_specific, degrees.other_relation):
        with pytest.raises(IndexError):
            call(entity, 0)
        for relation in (-1, 6):
            with pytest.raises(IndexError, match=f"no relation with id {relation}: ids run from"):
                call(0, relation)


def test_bins():
    bins = DegreeBins()
    assert bins.names == tuple(map(readable, bins.names)) == ("zero", "low", "medium", "high")
    assert bins.assign([0, 1, 9, 10, 49, 50, 10_000]).tolist() == [0, 1, 1, 2, 2, 3, 3]
    assert bins.assign(torch.tensor([[5], [0]])).tolist() == [[1], [0]]
    assert bins.count([0, 3, 4]) == {"zero": 1, "low": 2, "medium": 0, "high": 0}
    assert len(bins) == 4


def test_bins_of_other_edges_are_named_by_interval():
    bins = DegreeBins.parse("1,5")
    assert bins.names == ("[0,1)", "[1,5)", "[5,inf)")
    assert bins.assign([0, 4, 5]).tolist() == [0, 1, 2]
    assert bins == DegreeBins([1, 5])
    assert bins != DegreeBins([1, 6])
    assert len({bins, DegreeBins([1, 5]), DegreeBins()}) == 2
    assert repr(bins) == "DegreeBins(edges=(1, 5))"


@pytest.mark.parametrize("edges", [[], [0, 5], [5, 5], [5, 1], [1.5], [True], [1, 2, 2**63]])
def test_edges_that_make_no_bins(edges):
    with pytest.raises(ConfigError, match="bins"):
        DegreeBins(edges)


def test_one_edge_and_the_largest_are_edges():
    assert DegreeBins([7]).names == ("[0,7)", "[7,inf)")
    assert list(map(readable, DegreeBins([7]).names)) == ["[0,7)", "[7,∞)"]
    assert DegreeBins([1, 2**63 - 1]).assign([2**63 - 2, 2**63 - 1]).tolist() == [1, 2]


@pytest.mark.parametrize("text", ["", "1,,5", "a", "5,1", "1.5"])
def test_texts_that_make_no_bins(text):
    with pytest.raises(ConfigError, match="bins: edges must be whole, positive and ascending"):
        DegreeBins.parse(text)


def test_negative_degrees_are_refused():
    with pytest.raises(DataError, match="negative"):
        DegreeBins().assign([-1])


def test_query_degrees_are_those_of_the_answers(kg):
    # test: (d, likes, c) and (lone, knows, c); answers c, c, then d and lone asked backwards.
    assert query_degrees(kg, "test").tolist() == [2, 2, 0, 0]


def test_query_degrees_of_training_rows_with_duplicates():
    row, other = ("a", "r", "b"), ("c", "r", "b")
    kg = KnowledgeGraph.from_names([row, other, row, ("b", "s", "c")])
    assert kg.train_edges.tolist() == [0, 1, 0, 2]
    assert query_degrees(kg, "train").tolist() == [2, 2, 2, 1, 1, 1, 1, 1]
    kg = random_graph(9, 2, 120)  # Taken from the edges, they are what a look-up by pair gives.
    heads, relations, tails = kg.train.unbind(1)
    answers, asked = torch.cat([tails, heads]), torch.cat([relations, relations + kg.num_relations])
    assert torch.equal(query_degrees(kg, "train"), kg.degrees.tail_relation(answers, asked))


def test_partners_against_their_definition():
    kg = random_graph(9, 2, 120)
    edges = kg.edges.tolist()
    for rule, legal in {
        "any": lambda e, f: True,
        "strict": lambda e, f: f[0] != e[0] and f[1] != e[1],
    }.items():
        expected = [sum(f[2] == e[2] and f != e and legal(e, f) for f in edges) for e in edges]
        assert partner_counts(kg, rule).tolist() == expected


def test_pairs_of_a_large_graph_are_told_apart():
    """Two heads that are neighbours among a hundred thousand, each with a relation of its own."""
    rows = torch.tensor([(0, 0, 99_999), (1, 1, 99_999)])
    kg = KnowledgeGraph.from_arrays(rows, None, None, entities=100_000, relations=2)
    assert partner_counts(kg, "strict")[:2].tolist() == [1, 1]


def test_thresholds_and_partners_may_exceed_every_degree(kg):
    assert mixing_summary(kg, 1000, 1000, "any") == mixing_summary(kg, 2**63 - 1, 2**62, "any")


def test_mixing_summary_of_the_toy_graph(kg):
    # All 12 edges are below 3; every tail has another edge, so each has min(1, …) = 1 partner.
    assert mixing_summary(kg, 3, 1, "any") == {
        "below_threshold": 12,
        "without_partner": 0,
        "synthetic_per_epoch": 12,
    }
    # A degree equal to the threshold is not below it: 2 is the degree of eight edges.
    assert mixing_summary(kg, 2, 5, "any")["below_threshold"] == 4
    assert set(mixing_summary(kg, 0, 5, "any").values()) == {0}


@pytest.mark.parametrize(
    ("threshold", "partners", "rule", "what"),
    [
        (-1, 5, "any", r"threshold must lie in \[0, 2\^63\), got -1"),
        (2**63, 5, "any", "threshold"),
        (5, -1, "any", "partners"),
        (5, 10**20, "any", "partners"),
        (5, 5, "both", "partner_rule"),
    ],
)
def test_settings_that_make_no_sense(kg, threshold, partners, rule, what):
    with pytest.raises(ConfigError, match=what):
        mixing_summary(kg, threshold, partners, rule)


def test_summary_has_the_keys_of_the_command(kg):
    summary = degree_summary(kg, DegreeBins(), 5, 5, "any")
    assert list(summary) == [
        "pairs", "below_threshold", "without_partner", "synthetic_per_epoch", "bins",
    ]  # fmt: skip
    assert summary["pairs"] == len({(r, t) for _, r, t in kg.edges.tolist()})
    assert summary["bins"]["test"] == {"zero": 2, "low": 2, "medium": 0, "high": 0}
    assert sum(summary["bins"]["train"].values()) == 12
