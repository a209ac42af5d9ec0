"""Re-weighting on five triples: every weight by hand."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.training.prepared import prepare
from tests.settings import settled_training


@pytest.fixture
def batch(five):
    """(1, r0, ?) has edge 0, (0, r2, ?) edges 5, 6 and 7."""
    return QueryBatches(five, 2).batch(five.train_index.locate([1, 0], [0, 2]))


def test_low_degrees_weigh_more(make, everything) -> None:
    assert make("reweight", threshold=3).positive_weights(everything).tolist() == [1] * 3 + [2] * 7
    weights = make("reweight", threshold=3, reweight_up=0.5).positive_weights(everything)
    assert weights.tolist() == [1] * 3 + [1.5] * 7
    assert make("reweight", threshold=1).positive_weights(everything).tolist() == [1] * 10
    assert make("reweight", threshold=3).coverage() == {"below_threshold": 7}


def test_a_1_n_batch_has_mean_weight_1(make, batch) -> None:
    """Of 10 terms 3 weigh 2, so 10 / 13."""
    assert batch.edges.tolist() == [0, 5, 6, 7]
    prepared = prepare(batch, make("reweight", threshold=3), settled_training(), 5)
    assert prepared.weights.tolist() == [1, 2, 2, 2]
    assert prepared.scale == pytest.approx(10 / 13)
    all_weights = torch.ones(2, 5)
    all_weights[batch.rows, batch.tails] = prepared.weights
    assert float((prepared.scale * all_weights).mean()) == pytest.approx(1.0)


def test_a_1_k_batch_has_mean_weight_1(make, five) -> None:
    """Edges 2 and 3 with 2 x 3 negatives, one of them masked: 7 terms, one weighs 2."""
    heads, relations, tails = five.edges[[2, 3]].unbind(1)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    negatives = torch.zeros(2, 3, dtype=torch.long)
    batch = TripleBatch(heads, relations, tails, torch.tensor([2, 3]), negatives, mask)
    strategy = make("reweight", regime="1-k", threshold=3)
    prepared = prepare(batch, strategy, settled_training(regime="1-k"), 5)
    assert prepared.weights.tolist() == [1, 2]
    assert prepared.scale == pytest.approx(7 / 8)


def test_softmax_terms_are_the_positives(make, batch) -> None:
    training = settled_training(loss="ce")
    prepared = prepare(batch, make("reweight", loss="ce", threshold=3), training, 5)
    assert prepared.scale == pytest.approx(4 / 7)
