"""Every strategy, in every regime, with every loss it takes, decoder and encoder."""

import itertools

import pytest
import torch

from dglkgmix.config.classes import DECODERS, STRATEGIES, find, reads
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.sampling.negatives import TripleBatches
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.sampling.seeds import generator
from dglkgmix.training.batch_loss import batch_loss
from tests.graphs import random_graph
from tests.settings import settled_model, settled_strategy, settled_training

LOSSES = {name: ("ce",) if name == "logit-adjustment" else ("bce", "ce") for name in STRATEGIES}
SETTINGS = [
    (name, regime, loss)
    for name, regime in itertools.product(STRATEGIES, ("1-n", "1-k", "1-k by query"))
    for loss in LOSSES[name]
]
MODELS = list(itertools.product(DECODERS, ("lookup", "rgcn")))
every_setting = pytest.mark.parametrize(("name", "regime", "loss"), SETTINGS)


@pytest.fixture(scope="module")
def kg():
    return random_graph(12, 3, 40)


def build(kg, decoder="conve", encoder="lookup"):
    options = settled_model(decoder, 8, encoder=encoder, bias=True, filters=2, bases=2)
    return LinkPredictor.build(options, kg, seed=0).train()


def start(kg, name, regime, loss, *, epoch=1, seed=0, **options):
    regime, _, grouped = regime.partition(" ")
    training = settled_training(regime=regime, loss=loss, group_queries=bool(grouped))
    config = settled_strategy(name=name, **{"threshold": 3, "partners": 2, **options})
    strategy = find("strategy", name)(kg, config, training)
    strategy.start_epoch(epoch, seed)
    return strategy, training


def batches(kg, strategy, training, size=8):
    if training.regime == "1-n":
        return QueryBatches(kg, size).epoch(generator(1))
    grouped = training.group_queries
    return TripleBatches(kg, size, 4, by_query=grouped).epoch(generator(1), strategy.epoch_edges())


def losses(model, kg, strategy, training, size=8):
    torch.manual_seed(0)  # dropout
    for batch in batches(kg, strategy, training, size):
        vectors = model.encode(hidden_edges=batch.edges)
        yield batch_loss(model, vectors, batch, strategy, training)


def values(model, kg, strategy, training):
    return [float(terms.loss.detach()) for terms in losses(model, kg, strategy, training)]


@every_setting
class TestEveryStrategy:
    def test_losses_are_finite_and_move_both_tables(self, kg, name, regime, loss):
        model = build(kg)
        for terms in losses(model, kg, *start(kg, name, regime, loss)):
            model.zero_grad()
            terms.loss.backward()
            assert torch.isfinite(terms.loss)
            for parameter in model.parameters():
                assert torch.isfinite(parameter.grad).all()
            assert model.encoder.entity_table.grad.abs().max() > 0
            assert model.encoder.relation_table.grad.abs().max() > 0

    def test_the_same_from_the_same_seed(self, kg, name, regime, loss):
        runs = [
            values(build(kg), kg, *start(kg, name, regime, loss, epoch=3, seed=5)) for _ in range(2)
        ]
        assert runs[0] == runs[1]

    def test_an_epoch_may_be_drawn_anew(self, kg, name, regime, loss):
        """A resumed training starts in the middle: what came before leaves no trace."""
        strategy, training = start(kg, name, regime, loss, epoch=1)
        strategy.start_epoch(3, 5)
        again = values(build(kg), kg, strategy, training)
        assert again == values(build(kg), kg, *start(kg, name, regime, loss, epoch=3, seed=5))

    def test_threshold_0_treats_nobody(self, kg, name, regime, loss):
        """Case 9: plain training, but for strategies that treat all triples alike."""
        mine = values(build(kg), kg, *start(kg, name, regime, loss, threshold=0))
        plain = values(build(kg), kg, *start(kg, "standard", regime, loss))
        if name != "standard" and "threshold" not in reads("strategy", name):
            assert mine != plain
        else:
            assert mine == pytest.approx(plain, rel=1e-6)

    def test_batches_of_one(self, kg, name, regime, loss):
        """Case 12."""
        strategy, training = start(kg, name, regime, loss)
        expected = list(batches(kg, strategy, training, 1))
        found = list(losses(build(kg), kg, strategy, training, 1))
        assert [len(batch) for batch in expected] == [1] * len(found)
        assert all(torch.isfinite(terms.loss) for terms in found)

    def test_counts(self, kg, name, regime, loss):
        strategy, training = start(kg, name, regime, loss)
        found = list(losses(build(kg), kg, strategy, training))
        edges = strategy.epoch_edges() if regime != "1-n" else None
        assert sum(t.positives for t in found) == (kg.num_edges if edges is None else len(edges))
        samples = sum(t.synthetic_samples for t in found)
        assert samples == strategy.coverage().get("synthetic_per_epoch", 0)
        assert (samples > 0) == (name == "mixup")
        assert all(float(t.synthetic_loss) == 0.0 for t in found if t.synthetic_samples == 0)

    def test_evaluation_is_left_alone(self, kg, name, regime, loss):
        """Whatever is added to scores in training, the model ranks with its own."""
        model = build(kg).eval()
        ids = torch.tensor([0, 1])
        before = model.score_all(model.encode(), model.query(model.encode(), ids, ids))
        list(losses(model, kg, *start(kg, name, regime, loss)))
        after = model.score_all(model.encode(), model.query(model.encode(), ids, ids))
        assert torch.equal(before, after)


@pytest.mark.parametrize(("decoder", "encoder"), MODELS)
def test_every_model(kg, decoder, encoder):
    """One batch of every strategy, regime and loss: gradients reach every parameter."""
    model = build(kg, decoder, encoder)
    for name, regime, loss in SETTINGS:
        model.zero_grad()
        terms = next(losses(model, kg, *start(kg, name, regime, loss)))
        terms.loss.backward()
        assert torch.isfinite(terms.loss), (name, regime, loss)
        for key, parameter in model.named_parameters():
            assert parameter.grad is not None, (name, regime, loss, key)
            assert torch.isfinite(parameter.grad).all(), (name, regime, loss, key)
