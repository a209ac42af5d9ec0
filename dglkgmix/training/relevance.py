"""Options that a plan does not read: one that somebody names all the same is a mistake.

A configuration file or a recipe may hold them, as it holds every option; what is asked for by name,
as a flag or with ``--set``, must have an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dglkgmix.errors import ConfigError
from dglkgmix.training.config import Config
from dglkgmix.training.flags import flag_of

_MIXUP = ("mixup",)
# Option -> the choices that read it, of the option named first.
_READERS: dict[str, dict[str, tuple[str, ...]]] = {
    "strategy.name": {
        "strategy.threshold": ("mixup", "oversample", "reweight"),
        "strategy.partners": _MIXUP,
        "strategy.partner_rule": _MIXUP,
        "strategy.alpha": _MIXUP,
        "strategy.lambda_range": _MIXUP,
        "strategy.fixed_lambda": _MIXUP,
        "strategy.synthetic_weight": _MIXUP,
        "strategy.synthetic_bias": _MIXUP,
        "strategy.reweight_up": ("reweight",),
        "strategy.gamma": ("focal",),
        "strategy.focal_detach": ("focal",),
        "strategy.tau": ("logit-adjustment",),
        "strategy.adjustment_smoothing": ("logit-adjustment",),
    },
    "model.decoder": {
        "model.height": ("conve",),
        "model.filters": ("conve",),
        "model.kernel": ("conve",),
        "model.feature_dropout": ("conve",),
        "model.hidden_dropout": ("conve",),
        "model.hidden_dropout1": ("tucker",),
        "model.hidden_dropout2": ("tucker",),
        "model.norm": ("transe",),
        "pretrain.feature_dropout": ("conve",),
        "pretrain.hidden_dropout": ("conve",),
        "pretrain.hidden_dropout1": ("tucker",),
        "pretrain.hidden_dropout2": ("tucker",),
    },
    "model.encoder": {
        "model.layers": ("rgcn",),
        "model.decomposition": ("rgcn",),
        "model.bases": ("rgcn",),
        "model.encoder_dropout": ("rgcn",),
        "model.edge_dropout": ("rgcn",),
        "model.fanout": ("rgcn",),
    },
}
_OF_NEGATIVES = ("negatives", "filtered")
_OF_SCHEDULES = {"lr_decay": ("exponential", "plateau"), "lr_patience": ("plateau",)}


def check_relevant(config: Config, given: Iterable[str]) -> None:
    """Refuse options that were asked for by name and that ``config`` does not read.

    Args:
        config: the whole configuration, "auto" allowed.
        given: ``table.option`` of what flags and overrides set.

    Raises:
        ConfigError: names the first such option, its flag and the reason.
    """
    for option in given:
        reason = idle(config, option)
        if reason is not None:
            flag = flag_of(option)
            shown = f"{flag} ({option})" if flag else option
            raise ConfigError(f"{shown} is given, but {reason}: leave it out")


def idle(config: Config, option: str) -> str | None:
    """Why ``option`` has no effect in ``config``; None where it has one."""
    for chooser, readers in _READERS.items():
        choice = _value(config, chooser)
        if option in readers and choice not in readers[option]:
            return f'{chooser} "{choice}" does not read it'
    for rule in _RULES:
        reason = rule(config, option)
        if reason is not None:
            return reason
    return None


def _of_mixing(config: Config, option: str) -> str | None:
    drawn = option in ("strategy.alpha", "strategy.lambda_range")
    if drawn and config.strategy.fixed_lambda != "none":
        return "strategy.fixed_lambda (--fixed-lambda) stands for every draw of λ"
    return None


def _of_first_stage(config: Config, option: str) -> str | None:
    table, _, name = option.partition(".")
    if table != "pretrain" or name in ("enabled", "run"):
        return None
    if config.pretrain.run:
        return "pretrain.run (--pretrained) takes the place of a first stage"
    return None if _has_first_stage(config) else "there is no first stage (--pretrain)"


def _of_averaging(config: Config, option: str) -> str | None:
    if option in ("pretrain.swa_start", "pretrain.swa_every", "pretrain.swa_lr"):
        own = "the first stage's weights are not averaged (pretrain.swa)"
        return None if config.pretrain.swa else own
    averaged = config.swa.enabled
    if averaged == "auto":
        averaged = config.strategy.name == "mixup"
    idle = option in ("swa.start", "swa.every", "swa.lr") and not averaged
    return "weights are not averaged (--swa)" if idle else None


def _of_negatives(config: Config, option: str) -> str | None:
    """Negatives belong to 1-K."""
    if option.partition(".")[2] not in _OF_NEGATIVES:
        return None
    regimes = _where_read(config, option, "regime")
    return None if "1-k" in regimes else "only the regime 1-k (--regime) draws negatives"


def _of_smoothing(config: Config, option: str) -> str | None:
    """Nothing spreads a mass where targets are not smoothed."""
    if option.partition(".")[2] != "smoothing_mass":
        return None
    smoothed = any(_where_read(config, option, "label_smoothing"))
    return None if smoothed else "targets are not smoothed (label_smoothing is 0)"


def _of_schedules(config: Config, option: str) -> str | None:
    readers = _OF_SCHEDULES.get(option.partition(".")[2])
    if readers is None or set(readers) & set(_where_read(config, option, "schedule")):
        return None
    return f"only the schedule {' or '.join(readers)} (training.schedule) reads it"


def _where_read(config: Config, option: str, other: str) -> list[Any]:
    """Values of ``other`` in the stages that read ``option``.

    The first stage takes the main one's options where it has none of its own.
    """
    table, _, name = option.partition(".")
    found = [getattr(config.training, other)] if table == "training" else []
    own = table == "pretrain" or getattr(config.pretrain, name) == "same"
    if own and _has_first_stage(config):
        value = getattr(config.pretrain, other)
        found.append(getattr(config.training, other) if value == "same" else value)
    return found


def _has_first_stage(config: Config) -> bool:
    if config.pretrain.run:
        return False
    if config.pretrain.enabled == "auto":
        return config.strategy.name == "mixup"
    return config.pretrain.enabled


def _value(config: Config, option: str) -> str:
    table, _, name = option.partition(".")
    return str(getattr(getattr(config, table), name))


_RULES: tuple[Callable[[Config, str], str | None], ...] = (
    _of_mixing,
    _of_first_stage,
    _of_averaging,
    _of_negatives,
    _of_smoothing,
    _of_schedules,
)
