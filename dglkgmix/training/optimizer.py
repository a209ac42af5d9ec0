"""Optimisers, their decay, and the norm of what they are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import torch
from torch import nn
from typing_extensions import Never

from dglkgmix.config import TrainingConfig
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.models.lookup import Lookup
from dglkgmix.training.row_adam import RowAdam

# Entities for each row that a batch reads from which on waiting pays (measured at d = 200).
_FEW = 8


def build_optimizer(model: nn.Module, training: TrainingConfig[Never]) -> torch.optim.Optimizer:
    """Adam or Adagrad over all parameters of ``model`` at ``training.lr``.

    Adam runs fused: one pass over the parameters where the plain one makes a dozen. Where a batch
    reads few rows of the entity table, they alone are touched, to the same effect.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    lr = training.lr
    if training.optimizer == "adagrad":
        return torch.optim.Adagrad(parameters, lr=lr)
    fused = _can_fuse(parameters)
    if reads_few_rows(model, training):
        return RowAdam(parameters, model.encoder.entity_table, lr, fused=fused)
    return torch.optim.Adam(parameters, lr=lr, fused=fused)


def reads_few_rows(model: nn.Module, training: TrainingConfig[Never]) -> TypeGuard[LinkPredictor]:
    """Whether a batch reads so few rows of the entity table that the others had better wait.

    A GPU passes over its whole memory in the time that finding a batch's rows takes.
    """
    if not isinstance(model, LinkPredictor) or not isinstance(model.encoder, Lookup):
        return False
    table = model.encoder.entity_table
    if training.regime == "1-n" or table.device.type != "cpu":
        return False
    read = training.batch_size * (2 + training.negatives)
    return len(table) >= _FEW * read


def build_decay(
    optimizer: torch.optim.Optimizer, training: TrainingConfig
) -> torch.optim.lr_scheduler.ExponentialLR:
    """The rate times γ after every epoch (method, "Optimiser")."""
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=training.lr_decay)


def clip_gradients(parameters: Iterable[nn.Parameter], clip: float) -> torch.Tensor:
    """Scale gradients whose joint 2-norm exceeds ``clip`` down to it; 0 leaves all alone.

    Returns:
        scalar, the norm before clipping.
    """
    gradients = [values_of(p.grad) for p in parameters if p.grad is not None]
    norm: torch.Tensor = torch.stack([torch.linalg.vector_norm(g) for g in gradients]).norm()
    # `clip_grad_norm_` would multiply every gradient, by 1 where nothing is to be clipped.
    if clip > 0:
        torch._foreach_mul_(gradients, (clip / norm).clamp(max=1.0))
    return norm


def values_of(gradient: torch.Tensor) -> torch.Tensor:
    """The numbers of a gradient: of a sparse one those that are there, its rows being distinct."""
    return gradient._values() if gradient.is_sparse else gradient


def learning_rate(optimizer: torch.optim.Optimizer) -> float:
    """The rate that the next step will use."""
    return float(optimizer.param_groups[0]["lr"])


def _can_fuse(parameters: list[nn.Parameter]) -> bool:
    """Whether this PyTorch fuses Adam on the parameters' device (on CPUs since 2.4)."""
    try:
        torch.optim.Adam(parameters, fused=True)
    except (RuntimeError, ValueError):
        return False
    return True
