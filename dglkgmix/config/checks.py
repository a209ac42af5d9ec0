"""Options that make no sense, alone, together or on a given graph, refused by name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Protocol

from dglkgmix.config.base import settled, stage_value
from dglkgmix.config.classes import DECODERS, find, reads
from dglkgmix.config.goal import goal_parts
from dglkgmix.config.settings import Config, Settled
from dglkgmix.errors import ConfigError


class Sized(Protocol):
    """What a check against a graph needs to know of it."""

    @property
    def num_entities(self) -> int:
        """E."""

    @property
    def num_edges(self) -> int:
        """M, reciprocal triples included."""

    @property
    def num_relations(self) -> int:
        """R, reciprocal ones not included."""

    @property
    def valid(self) -> Any:
        """Its validation triples: their number counts."""

    @property
    def train_index(self) -> Any:
        """Its ``heads``: one entry for each distinct query."""


def check_count(name: str, value: Any, what: str) -> None:
    """ConfigError unless ``value``, the number of ``what``, is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ConfigError(
            f"{name} must be a whole number from 1, not {value!r}: it is the number of {what}"
        )


def validate(config: Config) -> None:
    """Check every option by itself and against the others.

    Raises:
        ConfigError: names the first option that makes no sense, its value and the range.
    """
    _raise_first(_single(config))
    _raise_first(_together(config))


def validate_alone(config: Config) -> None:
    """Check every option by itself: a part of a plan whose other options are still open.

    Raises:
        ConfigError: as :func:`validate`.
    """
    _raise_first(_single(config))


def validate_for(config: Settled, kg: Sized) -> None:
    """Check a resolved configuration against the graph it is to train on.

    Raises:
        ConfigError: names the option and the graph's own figure.
    """
    _raise_first(_against(config, kg))


def _raise_first(complaints: Iterator[str]) -> None:
    for complaint in complaints:
        raise ConfigError(complaint)


def _single(config: Config) -> Iterator[str]:
    for option, value in config.items():
        name = option.key
        option.checked(value, name)
        if isinstance(value, float) and not math.isfinite(value):
            yield f"{name} must be finite, got {value}"
        if option.bounds and not isinstance(value, str) and not option.bounds.holds(value):
            yield f"{name} {option.bounds.words}, got {value}"
        if isinstance(value, int) and value >= 2**63:
            yield f"{name} must stay below 2^63, got {value}"
    goal_parts(config.training.select)


def _together(config: Config) -> Iterator[str]:
    model, training, strategy = config.model, config.training, config.strategy
    dims = (model.entity_dim, model.relation_dim)
    if "auto" not in dims and dims[0] != dims[1] and not find("decoder", model.decoder).two_dims:
        yield (
            f"model.relation_dim {dims[1]} must equal model.entity_dim {dims[0]}: "
            f"{model.decoder} takes no other"
        )
    losses = find("strategy", strategy.name).losses
    if training.loss not in ("auto", *losses):
        yield (
            f'strategy.name "{strategy.name}" needs training.loss "{losses[0]}" '
            f"(--loss {losses[0]})"
        )
    fixed = strategy.fixed_lambda
    if fixed != "none" and strategy.lambda_range == "half" and fixed < 0.5:
        yield f'strategy.fixed_lambda {fixed} lies outside lambda_range "half", which is [0.5, 1]'
    if strategy.draws != "all" and strategy.draws > strategy.partners:
        yield (
            f"strategy.draws {strategy.draws} exceeds strategy.partners {strategy.partners}, "
            "of which they are drawn"
        )
    if training.parent and (config.pretrain.run or config.pretrain.enabled is True):
        yield (
            "training.parent (--from) takes the place of a first stage: leave pretrain.run "
            "(--pretrained) and pretrain.enabled (--pretrain) out"
        )
    if config.pretrain.run and config.pretrain.enabled is False:
        yield "pretrain.run names a run, but pretrain.enabled is false: add --pretrain"
    if model.fanout and "fanout" not in reads("encoder", model.encoder):
        yield (
            f'model.fanout samples neighbours, which model.encoder "{model.encoder}" does not read'
        )
    yield from _by_stage(config)


def _by_stage(config: Config) -> Iterator[str]:
    decoder = config.model.decoder
    for table in ("training", "pretrain"):
        weight = stage_value(config, table, "relation_prediction")
        if weight and not find("decoder", decoder).predicts_relations:
            able = [name for name in DECODERS if find("decoder", name).predicts_relations]
            yield (
                f'{table}.relation_prediction {weight}: the scores of model.decoder "{decoder}" '
                f"are no product with the relation; those of these are: {', '.join(able)}"
            )
        trained = table == "training" or config.pretrain.enabled is not False
        if trained and stage_value(config, table, "schedule") == "plateau":
            yield from _plateau(config, table)
        loss, mass, share = (
            stage_value(config, table, key) for key in ("loss", "smoothing_mass", "label_smoothing")
        )
        share = settled(config, "label_smoothing", share)
        if settled(config, "loss", loss) == "ce" and mass != "auto" and share not in (0, mass):
            yield (
                f'{table}.smoothing_mass {mass}: {table}.loss "ce" spreads ε itself '
                f'({share}); leave smoothing_mass at "auto"'
            )


def _plateau(config: Config, table: str) -> Iterator[str]:
    if stage_value(config, table, "lr_decay") == 1:
        yield (
            f'{table}.schedule "plateau" lowers the rate by {table}.lr_decay, which is 1: set it '
            'below 1, or to "auto"'
        )
    waits, ends = (stage_value(config, table, key) for key in ("lr_patience", "patience"))
    if 0 < ends <= waits:
        yield (
            f"{table}.patience {ends} ends the stage before {table}.lr_patience {waits} lowers the "
            "rate: set it higher, or to 0"
        )


def _against(config: Settled, kg: Sized) -> Iterator[str]:
    tables = ["training", "pretrain"] if config.pretrain.enabled else ["training"]
    for table in tables:
        section = getattr(config, table)
        if section.schedule == "plateau" and len(kg.valid) == 0:
            yield (
                f'{table}.schedule "plateau" needs validation triples, and the graph has none: '
                "take another schedule"
            )
        if (
            section.relation_prediction
            and section.predicted_relations == "original"
            and kg.num_relations == 1
        ):
            yield (
                f"{table}.relation_prediction asks which relation it is, and the graph has only "
                f'one: leave it out, or set {table}.predicted_relations to "all"'
            )
        if section.regime == "1-k" and kg.num_entities == 1:
            yield (
                f'{table}.regime "1-k" draws negatives, and the graph has a single entity: '
                "take 1-n (--regime 1-n)"
            )
        if section.regime == "1-k" and section.negatives >= kg.num_entities:
            yield (
                f"{table}.negatives {section.negatives} must stay below the graph's "
                f"{kg.num_entities} entities"
            )
        mass, share = section.smoothing_mass, section.label_smoothing
        if share > 0 and mass > share * kg.num_entities:
            yield (
                f"{table}.smoothing_mass {mass} over {kg.num_entities} entities exceeds "
                f"{table}.label_smoothing {share}: targets would leave [0, 1]"
            )
        units, what = kg.num_edges, "training triples"
        if section.regime == "1-n":
            units, what = len(kg.train_index.heads), "training queries"
        if section.batch_size > units:
            yield (
                f"{table}.batch_size {section.batch_size} exceeds the graph's {units} {what} "
                "(reciprocal ones included)"
            )
