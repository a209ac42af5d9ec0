"""What every combination of decoder, encoder, regime and strategy must do in one epoch."""

import itertools
import math

import pytest
import torch

from dglkgmix.config import Config
from dglkgmix.config.checks import validate, validate_for
from dglkgmix.config.classes import DECODERS, STRATEGIES
from dglkgmix.config.toml import apply_overrides
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.defaults import resolve
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import StageLoop
from dglkgmix.training.stage_state import StageState
from dglkgmix.training.stages import stages


@pytest.fixture(scope="module")
def graph():
    """Ten entities; relation 1 leads to one hub, relation 0 round a ring."""
    rows = [(i, 0, (i + 1) % 10) for i in range(10)] + [(i, 1, 0) for i in range(1, 8)]
    triples = torch.tensor(rows)
    return KnowledgeGraph.from_arrays(
        triples[:15], triples[15:16], triples[16:], entities=10, relations=2
    )


def settle(graph, *overrides):
    small = ("model.entity_dim=8", "model.filters=2", "model.bases=2", "training.negatives=4")
    rest = ("training.batch_size=7", "training.validate_every=1", "pretrain.enabled=false")
    config = apply_overrides(Config(), [*small, *rest, "training.epochs=1", *overrides])
    validate(config)
    settled = resolve(config, graph)
    validate_for(settled, graph)
    return settled


def train_one_epoch(graph, config):
    (stage,) = stages(config)
    torch.manual_seed(0)
    work = StageState(stage, LinkPredictor.build(stage.model, graph, seed=0))
    loop = StageLoop(graph, work, config.runtime, seed=0, progress=Progress())
    row = loop.epoch()
    return work, loop, row.loss


def options(decoder, encoder, regime, strategy):
    loss = "ce" if strategy == "logit-adjustment" else "bce"
    return (
        *(f"model.decoder={decoder}", f"model.encoder={encoder}", f"training.regime={regime}"),
        *(f"strategy.name={strategy}", f"training.loss={loss}", "runtime.device=cpu"),
        "runtime.precision=fp32",
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("regime", ["1-n", "1-k"])
@pytest.mark.parametrize(
    ("decoder", "encoder"),
    [
        *itertools.product(DECODERS, ["lookup", "rgcn"]),
        *[(name, "compgcn") for name in ("conve", "tucker", "complex", "transe")],
    ],
)
def test_an_epoch_moves_every_parameter_and_gives_finite_figures(
    graph, decoder, encoder, regime, strategy
):
    config = settle(graph, *options(decoder, encoder, regime, strategy))
    before = LinkPredictor.build(config.model, graph, seed=0).state_dict()
    work, loop, loss = train_one_epoch(graph, config)
    assert math.isfinite(loss)
    unmoved = [n for n, p in work.model.named_parameters() if torch.equal(p, before[n])]
    assert unmoved == []
    selection = loop.select()
    assert selection.epoch == 1
    assert 0 < selection.goal <= 1


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("regime", "reduction"), [("1-n", "sum"), ("1-k", "mean")])
@pytest.mark.parametrize("loss", ["bce", "ce"])
def test_both_losses_in_batches_of_one(graph, strategy, regime, loss, reduction):
    if strategy == "logit-adjustment" and loss == "bce":
        return
    chosen = (*options("distmult", "lookup", regime, strategy), f"training.loss={loss}")
    more = ("training.batch_size=1", f"training.reduction={reduction}", "training.n3=0.01")
    config = settle(graph, *chosen, *more, "training.relation_prediction=0.5")
    assert math.isfinite(train_one_epoch(graph, config)[2])


def test_a_graph_whose_tails_have_one_incoming_edge_each_trains_with_mixup():
    rows = torch.tensor([(i, 0, i + 5) for i in range(5)])
    graph = KnowledgeGraph.from_arrays(rows, rows[:1], None, entities=10, relations=1)
    config = settle(graph, *options("conve", "lookup", "1-n", "mixup"))
    work, _, loss = train_one_epoch(graph, config)
    assert math.isfinite(loss)
    assert work.epoch == 1
