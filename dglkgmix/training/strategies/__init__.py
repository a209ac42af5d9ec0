"""Strategies against degree bias (method, Strategies against bias)."""

from __future__ import annotations

from dglkgmix.training.strategies.base import Adjustment, Strategy, SyntheticBatch
from dglkgmix.training.strategies.focal import Focal
from dglkgmix.training.strategies.logit_adjustment import LogitAdjustment
from dglkgmix.training.strategies.mixup import Mixup
from dglkgmix.training.strategies.oversample import Oversample
from dglkgmix.training.strategies.reweight import Reweight
from dglkgmix.training.strategies.standard import Standard

STRATEGIES: dict[str, type[Strategy]] = {
    "standard": Standard,
    "mixup": Mixup,
    "oversample": Oversample,
    "reweight": Reweight,
    "focal": Focal,
    "logit-adjustment": LogitAdjustment,
}

__all__ = ["STRATEGIES", "Adjustment", "Strategy", "SyntheticBatch"]
