from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from dglkgmix.config import ModelConfig, TrainingConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.optimizer import (
    build_decay,
    build_optimizer,
    clip_gradients,
    learning_rate,
    reads_few_rows,
)
from dglkgmix.training.row_adam import RowAdam


def parameters(*gradients: float | None) -> list[nn.Parameter]:
    made = []
    for gradient in gradients:
        parameter = nn.Parameter(torch.zeros(1))
        parameter.grad = None if gradient is None else torch.tensor([gradient])
        made.append(parameter)
    return made


def test_the_norm_is_joint_and_gradients_stay_without_a_clip() -> None:
    made = parameters(3.0, None, 4.0)
    assert clip_gradients(made, 0.0).item() == 5.0
    assert [p.grad.item() for p in made if p.grad is not None] == [3.0, 4.0]


def test_what_exceeds_the_clip_is_scaled_to_it() -> None:
    made = parameters(3.0, 4.0)
    assert clip_gradients(made, 2.5).item() == 5.0
    assert [p.grad.item() for p in made] == pytest.approx([1.5, 2.0])
    assert clip_gradients(made, 2.6).item() == pytest.approx(2.5)
    assert [p.grad.item() for p in made] == pytest.approx([1.5, 2.0])


@pytest.mark.parametrize(("name", "step"), [("adam", 0.5), ("adagrad", 0.5)])
def test_the_first_step_is_the_rate_long(name: str, step: float) -> None:
    model = nn.Linear(1, 1, bias=False)
    start = model.weight.item()
    optimizer = build_optimizer(model, TrainingConfig(optimizer=name, lr=0.5))
    model.weight.grad = torch.tensor([[2.0]])
    optimizer.step()
    assert model.weight.item() == pytest.approx(start - step, abs=1e-6)


def test_the_rate_decays_by_gamma_an_epoch() -> None:
    model = nn.Linear(1, 1)
    training = TrainingConfig(lr=0.5, lr_decay=0.9)
    optimizer = build_optimizer(model, training)
    decay = build_decay(optimizer, training)
    rates = []
    for _ in range(3):
        rates.append(learning_rate(optimizer))
        optimizer.step()
        decay.step()
    assert rates == pytest.approx([0.5, 0.45, 0.405])


def test_frozen_parameters_are_left_out() -> None:
    model = nn.Linear(2, 2)
    model.bias.requires_grad_(False)
    optimizer = build_optimizer(model, TrainingConfig(lr=0.1))
    assert sum(len(group["params"]) for group in optimizer.param_groups) == 1
    assert math.isclose(learning_rate(optimizer), 0.1)


def test_the_norm_and_the_clip_of_a_sparse_gradient() -> None:
    (dense,) = parameters(4.0)
    table = nn.Parameter(torch.zeros(5, 1))
    places, values = torch.tensor([[2]]), torch.tensor([[3.0]])
    table.grad = torch.sparse_coo_tensor(places, values, (5, 1), check_invariants=True)
    assert clip_gradients([dense, table], 2.5).item() == 5.0
    assert table.grad.to_dense().flatten().tolist() == [0.0, 0.0, 1.5, 0.0, 0.0]


def test_rows_wait_where_a_batch_reads_few_of_them(graph: KnowledgeGraph) -> None:
    """1-K on the CPU with a plain table; the batch of 1 reads 1 + 1 + K rows."""
    model = LinkPredictor.build(ModelConfig(entity_dim=12, relation_dim=12, bias=True), graph)
    training = TrainingConfig(regime="1-k", batch_size=1, negatives=1, lr=0.1)
    model.encoder.entity_table = nn.Parameter(torch.zeros(24, 12))
    assert reads_few_rows(model, training)
    assert isinstance(build_optimizer(model, training), RowAdam)
    assert not reads_few_rows(model, replace(training, negatives=2))
    assert not reads_few_rows(model, replace(training, regime="1-n"))
    assert not isinstance(build_optimizer(model, replace(training, optimizer="adagrad")), RowAdam)
    assert not reads_few_rows(nn.Linear(1, 1), training)
