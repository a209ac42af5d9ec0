import pytest
import torch
from torch import nn

from dglkgmix.training.optimizer import (
    build_optimizer,
    build_schedule,
    clip_gradients,
)
from tests.settings import settled_training


def parameters(*gradients):
    made = []
    for gradient in gradients:
        parameter = nn.Parameter(torch.zeros(1))
        parameter.grad = None if gradient is None else torch.tensor([gradient])
        made.append(parameter)
    return made


def test_the_norm_is_joint_and_gradients_stay_without_a_clip():
    made = parameters(3.0, None, 4.0)
    assert clip_gradients(made, 0.0).item() == 5.0
    assert [p.grad.item() for p in made if p.grad is not None] == [3.0, 4.0]


def test_what_exceeds_the_clip_is_scaled_to_it():
    made = parameters(3.0, 4.0)
    assert clip_gradients(made, 2.5).item() == 5.0
    assert [p.grad.item() for p in made] == pytest.approx([1.5, 2.0])
    assert clip_gradients(made, 2.6).item() == pytest.approx(2.5)
    assert [p.grad.item() for p in made] == pytest.approx([1.5, 2.0])


@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_the_first_step_is_the_rate_long(name):
    model = nn.Linear(1, 1, bias=False)
    start = model.weight.item()
    optimizer = build_optimizer(model, settled_training(optimizer=name, lr=0.5))
    model.weight.grad = torch.tensor([[2.0]])
    optimizer.step()
    assert model.weight.item() == pytest.approx(start - 0.5, abs=1e-6)
    assert optimizer.defaults["fused"]


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.5, 0.5, 0.5, 0.5]),
        ("exponential", [0.5, 0.45, 0.405, 0.3645]),
        # cos(0), cos(π/4), cos(π/2), cos(3π/4) on their way from 0.5 to 0
        ("cosine", [0.5, 0.25 * (1 + 0.5**0.5), 0.25, 0.25 * (1 - 0.5**0.5)]),
    ],
)
def test_the_rate_follows_its_schedule(schedule, rates):
    model = nn.Linear(1, 1)
    training = settled_training(lr=0.5, lr_decay=0.9, epochs=4, schedule=schedule)
    optimizer = build_optimizer(model, training)
    steps = build_schedule(optimizer, training)
    found = []
    for _ in range(4):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        steps.step()
    assert found == pytest.approx(rates)


def test_frozen_parameters_are_left_out():
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    (group,) = build_optimizer(model, settled_training(lr=0.1)).param_groups
    assert group["params"] == [model.weight]
