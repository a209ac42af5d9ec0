"""The whole configuration, and its options by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Generic

from typing_extensions import Never

from dglkgmix.config import classes
from dglkgmix.config.base import settled
from dglkgmix.config.option import Option, declared, shown
from dglkgmix.config.tables import (
    DataConfig,
    ModelConfig,
    Open,
    PretrainConfig,
    RuntimeConfig,
    StrategyConfig,
    SwaConfig,
    TrainingConfig,
)
from dglkgmix.errors import ConfigError


@dataclass(frozen=True)
class Config(Generic[Open]):
    """A whole training. Field names are the tables of ``config.toml``."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig[Open] = field(default_factory=ModelConfig)
    training: TrainingConfig[Open] = field(default_factory=TrainingConfig)
    strategy: StrategyConfig[Open] = field(default_factory=StrategyConfig)
    pretrain: PretrainConfig[Open] = field(default_factory=PretrainConfig)
    swa: SwaConfig[Open] = field(default_factory=SwaConfig)
    runtime: RuntimeConfig[Open] = field(default_factory=RuntimeConfig)

    def __post_init__(self) -> None:
        for table, cls in SECTIONS.items():
            if not isinstance(value := getattr(self, table), cls):
                raise ConfigError(f"{table}: expected a {cls.__name__}, got {shown(value)}")

    @property
    def sigmoid_is_probability(self) -> bool:
        """Whether σ(score) is one: not after softmax cross-entropy, nor of distances."""
        decoder = classes.find("decoder", self.model.decoder)
        loss = settled(self, "loss", self.training.loss)
        return bool(loss == "bce" and decoder.sigmoid_is_probability)

    def items(self) -> Iterator[tuple[Option, Any]]:
        """Every option with its value, in the order of the file; the user's classes' included."""
        for made in options(self).values():
            yield made, self.value(made.key)

    def value(self, key: str) -> Any:
        """The value of the option ``table.name``."""
        table, _, name = key.partition(".")
        return getattr(getattr(self, table), name)


# The class of each table.
SECTIONS: dict[str, Any] = {table.name: table.default_factory for table in fields(Config)}
OPTIONS: dict[str, Option] = {
    made.key: made for table, cls in SECTIONS.items() for made in declared(cls, table).values()
}
# Options with a name of their own, by that name: how triples are read, and all others, which are
# flags of `dglkgmix train` and parameters of `KGCompleter`.
READING = {o.flag: o for o in OPTIONS.values() if o.flag and o.key.startswith("data.")}
TRAINING = {o.flag: o for o in OPTIONS.values() if o.flag and o.flag not in READING}
# A training whose options all have values.
Settled = Config[Never]


def options(config: Config[Any]) -> dict[str, Option]:
    """All options by ``table.name``; with those of the user's classes that ``config`` names."""
    found: dict[str, Option] = {}
    for table in SECTIONS:
        ours = {key: made for key, made in OPTIONS.items() if key.startswith(f"{table}.")}
        found |= ours
        for made in ours.values():
            if made.classes:
                own = classes.options_of(made.classes, config.value(made.key))
                found |= {o.key: o for o in own.values()}
    return found


def flag_of(key: str) -> str | None:
    """How the command line calls ``table.option``; None where only ``--set`` does."""
    if key == "data.source":
        return "SOURCE"
    flag = OPTIONS[key].flag if key in OPTIONS else ""
    return f"--{flag.replace('_', '-')}" if flag else None
