"""Plain training: L_KG only. Also the control of two-stage training, after pre-training."""

from __future__ import annotations

from dglkgmix.strategies.base import Strategy


class Standard(Strategy):
    """Adds nothing."""
