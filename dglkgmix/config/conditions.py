"""When an option has no effect, whatever its value: the reasons that options are declared with.

Each function is given a configuration ("auto" allowed) and the table of the option, "training" or
"pretrain", and says why the option is not read there, or None.
"""

from __future__ import annotations

from typing import Any

from dglkgmix.config.classes import find

# dglkgmix.config.settings.Config, whose tables are declared with these functions.
Config = Any


def fixed_lambda(config: Config, table: str) -> str | None:
    """λ is not drawn."""
    if config.strategy.fixed_lambda == "none":
        return None
    return "strategy.fixed_lambda (--fixed-lambda) stands for every draw of λ"


def no_first_stage(config: Config, table: str) -> str | None:
    """There is no pre-training."""
    if config.pretrain.run:
        return "pretrain.run (--pretrained) takes the place of a first stage"
    if config.training.parent:
        return "training.parent (--from) takes the place of a first stage"
    return None if has_first_stage(config) else "there is no first stage (--pretrain)"


def not_averaged(config: Config, table: str) -> str | None:
    """Weights are not averaged."""
    averaged = config.swa.enabled
    if averaged == "auto":
        averaged = find("strategy", config.strategy.name).averaged
    return None if averaged else "weights are not averaged (--swa)"


def first_not_averaged(config: Config, table: str) -> str | None:
    """The first stage's weights are not averaged."""
    own = "the first stage's weights are not averaged (pretrain.swa)"
    return None if config.pretrain.swa else own


def no_negatives(config: Config, table: str) -> str | None:
    """Negatives belong to 1-K."""
    return _only_1_k(config, table, "negatives", "draws negatives")


def unfiltered(config: Config, table: str) -> str | None:
    """Their filter, too."""
    return _only_1_k(config, table, "filtered", "draws negatives")


def ungrouped(config: Config, table: str) -> str | None:
    """1-N encodes each query once anyway."""
    return _only_1_k(config, table, "group_queries", "goes by triples")


def _only_1_k(config: Config, table: str, name: str, what: str) -> str | None:
    if "1-k" in where_read(config, table, name, "regime"):
        return None
    return f"only the regime 1-k (--regime) {what}"


def not_smoothed(config: Config, table: str) -> str | None:
    """Nothing spreads a mass where targets are not smoothed."""
    if any(where_read(config, table, "smoothing_mass", "label_smoothing")):
        return None
    return "targets are not smoothed (label_smoothing is 0)"


def no_decay(config: Config, table: str) -> str | None:
    """The rate does not fall by a factor."""
    return _only_schedules(config, table, "lr_decay", "exponential", "plateau")


def no_plateau(config: Config, table: str) -> str | None:
    """The rate does not wait for a new best."""
    return _only_schedules(config, table, "lr_patience", "plateau")


def _only_schedules(config: Config, table: str, name: str, *readers: str) -> str | None:
    if set(readers) & set(where_read(config, table, name, "schedule")):
        return None
    return f"only the schedule {' or '.join(readers)} (training.schedule) reads it"


def where_read(config: Config, table: str, name: str, other: str) -> list[Any]:
    """Values of the option ``other`` in the stages that read ``table.name``.

    The first stage takes the main one's options where it has none of its own.
    """
    found = [getattr(config.training, other)] if table == "training" else []
    own = table == "pretrain" or getattr(config.pretrain, name) == "same"
    if own and has_first_stage(config):
        value = getattr(config.pretrain, other)
        found.append(getattr(config.training, other) if value == "same" else value)
    return found


def has_first_stage(config: Config) -> bool:
    """Whether a stage of pre-training is trained."""
    if config.pretrain.run or config.training.parent:
        return False
    if config.pretrain.enabled == "auto":
        return bool(find("strategy", config.strategy.name).two_stage)
    return config.pretrain.enabled is True
