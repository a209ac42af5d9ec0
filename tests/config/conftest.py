"""Settings in few words."""

from __future__ import annotations

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides

MIXUP = ("strategy.name=mixup",)


def config(*overrides: str) -> Config:
    return apply_overrides(Config(), overrides)
