"""What a model asks of its options, so that this step imports nothing from the training step."""

# ruff: noqa: D102 - the configuration says what each option means

from __future__ import annotations

from typing import Literal, Protocol

from dglkgmix.errors import ConfigError

Auto = Literal["auto"]


class ModelOptions(Protocol):
    """The fields of :class:`dglkgmix.training.config.ModelConfig`, read only."""

    @property
    def decoder(self) -> str: ...
    @property
    def encoder(self) -> str: ...
    @property
    def entity_dim(self) -> int | Auto: ...
    @property
    def relation_dim(self) -> int | Auto: ...
    @property
    def bias(self) -> bool | Auto: ...
    @property
    def height(self) -> int | Auto: ...
    @property
    def filters(self) -> int: ...
    @property
    def kernel(self) -> int: ...
    @property
    def input_dropout(self) -> float: ...
    @property
    def feature_dropout(self) -> float: ...
    @property
    def hidden_dropout(self) -> float: ...
    @property
    def hidden_dropout1(self) -> float: ...
    @property
    def hidden_dropout2(self) -> float: ...
    @property
    def norm(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def decomposition(self) -> str: ...
    @property
    def bases(self) -> int: ...
    @property
    def encoder_dropout(self) -> float: ...
    @property
    def edge_dropout(self) -> float: ...
    @property
    def fanout(self) -> int: ...


def settled(value: int | Auto, option: str) -> int:
    """``value``, once it is a number.

    Raises:
        ConfigError: the option still says "auto", or is below 1.
    """
    if value == "auto":
        raise ConfigError(f"model.{option} is still 'auto': resolve the configuration first")
    if value < 1:
        raise ConfigError(f"model.{option} is {value}: it must be at least 1")
    return value
