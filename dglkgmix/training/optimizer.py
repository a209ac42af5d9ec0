"""Optimisers, their schedules, and the norm of what they are given."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn
from typing_extensions import Never

from dglkgmix.config import TrainingConfig


def build_optimizer(model: nn.Module, training: TrainingConfig[Never]) -> torch.optim.Optimizer:
    """Adam or Adagrad over all parameters of ``model`` at ``training.lr``.

    They run fused where this PyTorch fuses them on the parameters' device (on CPUs since 2.4): one
    pass over the parameters where the plain Adam makes a dozen and the plain Adagrad four.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    lr = training.lr
    if training.optimizer == "adagrad":
        # On GPUs it is fused by late versions alone; the others refuse at the first step.
        on_cpu = all(p.device.type == "cpu" for p in parameters)
        return torch.optim.Adagrad(parameters, lr=lr, fused=on_cpu or None)
    try:
        return torch.optim.Adam(parameters, lr=lr, fused=True)
    except (RuntimeError, ValueError):
        return torch.optim.Adam(parameters, lr=lr)


def build_schedule(
    optimizer: torch.optim.Optimizer, training: TrainingConfig[Never]
) -> torch.optim.lr_scheduler.LRScheduler:
    """What each step of the schedule does to the rate.

    A step follows every epoch, but for "plateau" validations without a new best.
    """
    if training.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, training.epochs)
    gamma = 1.0 if training.schedule == "constant" else training.lr_decay
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma)


def clip_gradients(parameters: Iterable[nn.Parameter], clip: float) -> torch.Tensor:
    """Scale gradients whose joint 2-norm exceeds ``clip`` down to it; 0 leaves all alone.

    Returns:
        scalar, the norm before clipping.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm: torch.Tensor = torch.stack([torch.linalg.vector_norm(g) for g in gradients]).norm()
    # `clip_grad_norm_` would multiply every gradient, by 1 where nothing is to be clipped.
    if clip > 0:
        torch._foreach_mul_(gradients, (clip / norm).clamp(max=1.0))
    return norm
