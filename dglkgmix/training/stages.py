"""The stages of a training: pre-training, then the main stage, each with its own settings."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from typing_extensions import Never

from dglkgmix.config import (
    ModelConfig,
    Settled,
    StrategyConfig,
    SwaConfig,
    TrainingConfig,
)

PRETRAIN = "pretrain"
MAIN = "train"


@dataclass(frozen=True)
class Stage:
    """One pass of the loop, from its own initial weights to its own selected ones."""

    name: str
    model: ModelConfig[Never]
    training: TrainingConfig[Never]
    strategy: StrategyConfig[Never]
    swa: SwaConfig[Never]


def stages(config: Settled) -> list[Stage]:
    """The stages that a resolved ``config`` asks for, in order.

    The first stage falls away where ``pretrain.run`` names a run whose embeddings are taken
    instead (Shomer et al., 2023, Algorithm 1).
    """
    main = Stage(MAIN, config.model, config.training, config.strategy, config.swa)
    if not config.pretrain.enabled or config.pretrain.run:
        return [main]
    own = config.pretrain
    values = dataclasses.asdict(own)
    first = Stage(
        name=PRETRAIN,
        model=dataclasses.replace(config.model, **shared(config.model, values)),
        training=dataclasses.replace(config.training, **shared(config.training, values)),
        strategy=dataclasses.replace(config.strategy, name="standard", own=()),
        swa=SwaConfig(own.swa, own.swa_start, own.swa_every, own.swa_lr),
    )
    return [first, main]


def shared(section: ModelConfig | TrainingConfig, values: dict[str, Any]) -> dict[str, Any]:
    """Those of the first stage's ``values`` that are options of ``section``, too."""
    names = {field.name for field in dataclasses.fields(section)}
    return {name: value for name, value in values.items() if name in names}
