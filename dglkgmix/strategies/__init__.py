"""Strategies against degree bias."""

from __future__ import annotations

from dglkgmix.strategies.base import Adjustment, Strategy, SyntheticBatch

__all__ = ["Adjustment", "Strategy", "SyntheticBatch"]
