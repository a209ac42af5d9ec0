import pytest
import torch

from dglkgmix.config import SwaConfig
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.averaging import Averaging
from dglkgmix.training.defaults import resolve

from .conftest import settings


@pytest.fixture
def model(graph):
    options = settings("model.input_dropout=0", "model.feature_dropout=0", "model.hidden_dropout=0")
    return LinkPredictor.build(resolve(options, graph).model, graph, seed=3)


def averaging(model, **options):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.0)  # as a stage has; it watches steps
    optimizer.step()
    swa = SwaConfig(**{"enabled": True, "start": 1, "every": 1, "lr": 0.5, **options})
    return Averaging(model, optimizer, swa)


@pytest.mark.parametrize(
    ("start", "every", "due"),
    [(3, 1, [3, 4, 5, 6]), (3, 2, [4, 6]), (1, 5, [5]), (6, 6, [6]), (7, 1, [])],
)
def test_epochs_from_the_start_that_the_period_divides_are_due(model, start, every, due):
    average = averaging(model, start=start, every=every)
    assert [epoch for epoch in range(1, 7) if average.is_due(epoch)] == due
    off = averaging(model, enabled=False, start=start, every=every)
    assert not any(off.is_due(epoch) for epoch in range(1, 7))


def test_refreshing_equals_a_pass_by_hand_and_leaves_the_live_model_alone(graph, model):
    average = averaging(model)
    average.update()
    model.train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    batches = [graph.edges[rows, :2].T for rows in order.split(16)]
    random = torch.get_rng_state()
    average.refresh(iter(batches))
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(module.training for module in model.modules())
    assert not any(module.training for module in average.model.modules())
    assert all(norm.momentum == 0.1 for norm in norms(average.model))
    inputs = [average.model.encode() for _ in batches]
    stacks = [
        torch.cat([vectors.entity(batch[0]), vectors.relation(batch[1])], 1)
        for vectors, batch in zip(inputs, batches, strict=True)
    ]
    means = torch.stack([stack.mean() for stack in stacks]).mean()
    variances = torch.stack([stack.var(unbiased=True) for stack in stacks]).mean()
    input_norm = average.model.decoder.input_norm
    assert torch.allclose(input_norm.running_mean, means, atol=1e-6)
    assert torch.allclose(input_norm.running_var, variances, atol=1e-6)
    assert not torch.equal(input_norm.running_mean, before["decoder.input_norm.running_mean"])


def norms(model):
    return [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]


def test_loading_nothing_begins_nothing(model):
    average = averaging(model)
    average.load(None)
    assert average.count == 0
