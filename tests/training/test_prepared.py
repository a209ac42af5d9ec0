"""Batches with what a strategy adds."""

import pytest
import torch

from dglkgmix.config import StrategyConfig
from dglkgmix.config.classes import find
from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling.negatives import TripleBatches
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.sampling.seeds import generator
from dglkgmix.training.prepared import candidates, edge_weights, prepare
from tests.settings import settled_strategy, settled_training


def prepared(kg, name, training, **options):
    strategy = find("strategy", name)(kg, settled_strategy(name=name, **options), training)
    strategy.start_epoch(1, 0)
    batches = QueryBatches(kg, 7) if training.regime == "1-n" else TripleBatches(kg, 7, 4)
    return prepare(next(iter(batches.epoch(generator(0)))), strategy, training, 20)


ONE_TO_N, ONE_TO_K = settled_training(), settled_training(regime="1-k")


@pytest.mark.parametrize("wrong", [lambda n: n + 1, lambda n: (n, 1), lambda n: ()])
def test_weights_that_are_not_one_for_each_positive_are_refused(graph, wrong):
    strategy = find("strategy", "standard")(graph, StrategyConfig(), ONE_TO_N)
    strategy.positive_weights = lambda edges: torch.ones(wrong(len(edges)))
    batch = next(iter(QueryBatches(graph, 7).epoch(generator(0))))
    with pytest.raises(ConfigError, match=r"Standard\.positive_weights gives .* one for each"):
        prepare(batch, strategy, ONE_TO_N, 20)


def test_plain_training_adds_nothing(graph):
    item = prepared(graph, "standard", ONE_TO_N)
    assert (item.weights, item.synthetic, item.offsets, item.scale) == (None, None, None, 1.0)
    assert torch.equal(item.hidden_edges, item.batch.edges)


def test_partners_are_hidden_as_well(graph):
    """Their tail is what the mixed query asks for."""
    item = prepared(graph, "mixup", ONE_TO_K)
    expected = {*item.batch.edges.tolist(), *item.synthetic.partners.tolist()}
    assert set(item.hidden_edges.tolist()) == expected


def test_entities_that_are_needed(graph):
    assert prepared(graph, "mixup", ONE_TO_N).nodes() is None
    item = prepared(graph, "mixup", ONE_TO_K)
    batch = item.batch
    used = [batch.heads, batch.tails, batch.negatives.flatten(), item.synthetic.second[:, 0]]
    assert item.nodes().tolist() == sorted({int(i) for part in used for i in part})


def test_offsets_follow_the_regime(graph):
    sparse = prepared(graph, "logit-adjustment", settled_training(loss="ce"))
    relations = sparse.batch.relations[sparse.offsets.rows]
    degrees = graph.degrees.tail_relation(sparse.offsets.tails, relations)
    torch.testing.assert_close(sparse.offsets.values, 0.1 * torch.log1p(degrees.float()))
    dense = prepared(graph, "logit-adjustment", settled_training(regime="1-k", loss="ce"))
    ids, relations = candidates(dense.batch), dense.batch.relations.unsqueeze(1)
    degrees = graph.degrees.tail_relation(ids, relations.expand_as(ids))
    torch.testing.assert_close(dense.offsets, 0.1 * torch.log1p(degrees.float()))


def test_moving_leaves_edges_where_strategies_look_them_up(graph):
    for name, training in (
        ("mixup", ONE_TO_K),
        ("reweight", ONE_TO_N),
        ("logit-adjustment", settled_training(loss="ce")),
    ):
        item = prepared(graph, name, training)
        moved = item.to("meta")
        assert moved.batch.heads.device.type == moved.batch.tails.device.type == "meta"
        assert moved.batch.edges.device.type == "cpu"
        assert (moved.scale, moved.terms) == (item.scale, item.terms)
        if item.weights is not None:
            assert moved.weights.device.type == "meta"
        if item.synthetic is not None:
            assert moved.synthetic.lam.device.type == "meta"
            assert moved.synthetic.partners.device.type == "cpu"
        if item.offsets is not None:
            assert moved.offsets.values.device.type == "meta"
        assert item.batch.heads.device.type == "cpu"


class TestWeights:
    """Of the user's own; (0, 0, 1) is there twice: edges are (0, 0, 1), (1, 0, 2), (2, 0, 0)."""

    kg = KnowledgeGraph.from_arrays([[0, 0, 1], [1, 0, 2], [0, 0, 1], [2, 0, 0]])

    def test_copies_take_their_mean_and_both_directions_weigh_the_same(self):
        weights = edge_weights(self.kg, torch.tensor([1.0, 5.0, 4.0, 0.0], dtype=torch.float64))
        assert weights.tolist() == [2.5, 5.0, 0.0, 2.5, 5.0, 0.0]

    @pytest.mark.parametrize(("name", "factor"), [("standard", 1), ("reweight", 2)])
    def test_they_multiply_the_strategys_own(self, name, factor):
        """Every pair (r, t) has one triple, below the threshold 2: re-weighting doubles each.

        Then a batch of six weights has mean 1.
        """
        own = torch.tensor([2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
        training = settled_training(loss="ce")
        config = StrategyConfig(name=name, threshold=2, reweight_up=1.0)
        strategy = find("strategy", name)(self.kg, config, training)
        (batch,) = QueryBatches(self.kg, 9).epoch(generator(0))
        item = prepare(batch, strategy, training, 3, own)
        assert item.weights.tolist() == (factor * own[batch.edges]).tolist()
        assert item.scale == pytest.approx(1 if factor == 1 else 6 / 54)
