"""Settings: every option declared once, configuration files, checks, and classes by name."""

from dglkgmix.config.option import option
from dglkgmix.config.settings import Config, Settled
from dglkgmix.config.tables import (
    DataConfig,
    ModelConfig,
    PretrainConfig,
    RuntimeConfig,
    StrategyConfig,
    SwaConfig,
    TrainingConfig,
)

__all__ = [
    "Config",
    "DataConfig",
    "ModelConfig",
    "PretrainConfig",
    "RuntimeConfig",
    "Settled",
    "StrategyConfig",
    "SwaConfig",
    "TrainingConfig",
    "option",
]
