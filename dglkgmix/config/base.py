"""Which defaults a decoder is trained with: the paper's, or those of Lacroix et al., 2018."""

from __future__ import annotations

from typing import Any

from dglkgmix.config.classes import find

# Options that are "auto" by default: the paper's value and that of Lacroix et al., with β what was
# better there (docs/results.md). Their N3 penalty depends on the graph, see
# dglkgmix.training.defaults.
VALUES: dict[str, tuple[Any, Any]] = {
    "loss": ("bce", "ce"),
    "optimizer": ("adam", "adagrad"),
    "label_smoothing": (0.1, 0.0),
    "input_dropout": (0.2, 0.0),
    "synthetic_weight": (1.0, 0.1),
}


def with_softmax(config: Any) -> bool:
    """Whether options at "auto" are those of Lacroix et al.: softmax cross-entropy, Adagrad, N3.

    So it is for decoders that ask for it, in 1-N, unless another loss or optimiser is given or the
    strategy needs another loss. Both stages follow the main one.

    Args:
        config: dglkgmix.config.settings.Config, "auto" and "same" allowed.
    """
    training = config.training
    return (
        find("decoder", config.model.decoder).prefers_softmax
        and training.regime == "1-n"
        and training.loss in ("auto", "ce")
        and training.optimizer in ("auto", "adagrad")
        and "ce" in find("strategy", config.strategy.name).losses
    )


def stage_value(config: Any, table: str, name: str) -> Any:
    """The value of an option in a stage: the main stage's where the first one has "same"."""
    value = getattr(getattr(config, table), name)
    return getattr(config.training, name) if value == "same" else value


def settled(config: Any, name: str, value: Any) -> Any:
    """``value`` of one of ``VALUES``, which "auto" stands for."""
    if value != "auto":
        return value
    value = VALUES[name][with_softmax(config)]
    losses = find("strategy", config.strategy.name).losses
    return losses[0] if name == "loss" and value not in losses else value
