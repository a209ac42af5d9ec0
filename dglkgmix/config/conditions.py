"""When an option has no effect, whatever its value: the reasons that options are declared with.

Each function is given a configuration ("auto" allowed) and the option as ``table.name``, the table
"training" or "pretrain" where both have it, and says why it is not read there, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dglkgmix.config.base import settled, stage_value
from dglkgmix.config.classes import find

# dglkgmix.config.settings.Config, whose tables are declared with these functions.
Config = Any


def fixed_lambda(config: Config, key: str) -> str | None:
    """λ is not drawn."""
    if config.strategy.fixed_lambda == "none":
        return None
    return "strategy.fixed_lambda (--fixed-lambda) stands for every draw of λ"


def no_first_stage(config: Config) -> str | None:
    """There is no pre-training."""
    if config.pretrain.run:
        return "pretrain.run (--pretrained) takes the place of a first stage"
    if config.training.parent:
        return "training.parent (--from) takes the place of a first stage"
    enabled = config.pretrain.enabled
    if enabled == "auto":
        enabled = find("strategy", config.strategy.name).two_stage
    return None if enabled else "there is no first stage (--pretrain)"


def not_averaged(config: Config, key: str) -> str | None:
    """Weights are not averaged."""
    averaged = config.swa.enabled
    if averaged == "auto":
        averaged = find("strategy", config.strategy.name).averaged
    return None if averaged else "weights are not averaged (--swa)"


def first_not_averaged(config: Config, key: str) -> str | None:
    """The first stage's weights are not averaged."""
    own = "the first stage's weights are not averaged (pretrain.swa)"
    return None if config.pretrain.swa else own


def not_1_k(config: Config, key: str) -> str | None:
    """1-N draws no negatives, and encodes each query once anyway."""
    if "1-k" in where_read(config, key, "regime"):
        return None
    return "only the regime 1-k (--regime) reads it"


def not_smoothed(config: Config, key: str) -> str | None:
    """Nothing spreads a mass where targets are not smoothed."""
    found = where_read(config, key, "label_smoothing")
    if any(settled(config, "label_smoothing", value) for value in found):
        return None
    return "targets are not smoothed (label_smoothing is 0)"


def no_relation_prediction(config: Config, key: str) -> str | None:
    """No relation is predicted."""
    if any(where_read(config, key, "relation_prediction")):
        return None
    return "relations are not predicted (training.relation_prediction is 0)"


def no_softmax_over_all(config: Config, key: str) -> str | None:
    """Synthetic terms are no softmax over all entities."""
    training = config.training
    if training.regime == "1-n" and settled(config, "loss", training.loss) == "ce":
        return None
    return "only softmax cross-entropy (--loss ce) in the regime 1-n reads it"


def without_schedule(*readers: str) -> Callable[[Config, str], str | None]:
    """The learning rate follows none of these schedules."""

    def reason(config: Config, key: str) -> str | None:
        if set(readers) & set(where_read(config, key, "schedule")):
            return None
        return f"only the schedule {' or '.join(readers)} (training.schedule) reads it"

    return reason


def where_read(config: Config, key: str, other: str) -> list[Any]:
    """Values of the option ``other`` in the stages that read the option ``key``.

    The first stage takes the main one's options where it has none of its own.
    """
    table, _, name = key.partition(".")
    found = [getattr(config.training, other)] if table == "training" else []
    own = table == "pretrain" or getattr(config.pretrain, name) == "same"
    if own and no_first_stage(config) is None:
        found.append(stage_value(config, "pretrain", other))
    return found
