"""Options that make no sense, alone, together or on a given graph, refused by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.models.registry import DECODERS
from dglkgmix.training.config import Config
from dglkgmix.training.goal import MRR, goal_parts, goal_weights

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

Rule = tuple[Callable[[Any], bool], str]

_POSITIVE: Rule = (lambda x: x > 0, "must be above 0")
_ATLEAST_0: Rule = (lambda x: x >= 0, "must be 0 or more")
_ATLEAST_1: Rule = (lambda x: x >= 1, "must be 1 or more")
_DIM: Rule = (lambda x: 1 <= x <= 2**20, "must be 1 or more, and at most 2^20")
_SHARE: Rule = (lambda x: 0 <= x <= 1, "must lie in [0, 1]")
_BELOW_1: Rule = (lambda x: 0 <= x < 1, "must lie in [0, 1)")
_DECAY: Rule = (lambda x: 0 < x <= 1, "must lie in (0, 1]")

_STAGE_RULES: dict[str, Rule] = {
    "epochs": _ATLEAST_1,
    "batch_size": _ATLEAST_1,
    "lr": _POSITIVE,
    "lr_decay": _DECAY,
    "lr_patience": _ATLEAST_1,
    "label_smoothing": _BELOW_1,
    "smoothing_mass": _ATLEAST_0,
    "negatives": _ATLEAST_1,
    "n3": _ATLEAST_0,
    "l2": _ATLEAST_0,
    "relation_prediction": _ATLEAST_0,
    "clip": _ATLEAST_0,
    "validate_every": _ATLEAST_1,
    "patience": _ATLEAST_0,
}
_DROPOUTS = dict.fromkeys(
    ("input_dropout", "feature_dropout", "hidden_dropout", "hidden_dropout1", "hidden_dropout2"),
    _BELOW_1,
)

_SWA_RULES: dict[str, Rule] = {"start": _ATLEAST_1, "every": _ATLEAST_1, "lr": _POSITIVE}

RULES: dict[str, dict[str, Rule]] = {
    "data": {
        "split": (
            lambda x: x[0] > 0 and min(x) >= 0 and math.isclose(sum(x), 1),
            "must be three shares that add up to 1, the first above 0",
        ),
        "split_seed": (lambda x: 0 <= x < 2**32, "must lie in [0, 2^32)"),
    },
    "model": {
        "entity_dim": _DIM,
        "relation_dim": _DIM,
        "init_scale": _POSITIVE,
        "height": _ATLEAST_1,
        "filters": _ATLEAST_1,
        "kernel": _ATLEAST_1,
        **_DROPOUTS,
        "layers": _ATLEAST_1,
        "bases": _ATLEAST_1,
        "encoder_dropout": _BELOW_1,
        "edge_dropout": _SHARE,
        "fanout": _ATLEAST_0,
    },
    "training": _STAGE_RULES,
    "strategy": {
        "threshold": _ATLEAST_0,
        "partners": _ATLEAST_1,
        "alpha": _POSITIVE,
        "fixed_lambda": _SHARE,
        "synthetic_weight": _ATLEAST_0,
        "reweight_up": _ATLEAST_0,
        "gamma": _ATLEAST_0,
        "tau": _ATLEAST_0,
        "adjustment_smoothing": _POSITIVE,
    },
    "pretrain": {
        **_STAGE_RULES,
        **_DROPOUTS,
        **{f"swa_{name}": rule for name, rule in _SWA_RULES.items()},
    },
    "swa": _SWA_RULES,
    "runtime": {
        "seed": (lambda x: 0 <= x < 2**63, "must lie in [0, 2^63)"),
        "threads": _ATLEAST_1,
        "block": _ATLEAST_1,
        "save_every": _ATLEAST_1,
    },
}


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


def validate_for(config: Config, kg: KnowledgeGraph) -> None:
    """Check a resolved configuration against the graph it is to train on.

    Raises:
        ConfigError: names the option and the graph's own figure.
    """
    _raise_first(_against(config, kg))


def _raise_first(complaints: Iterator[str]) -> None:
    for complaint in complaints:
        raise ConfigError(complaint)


def _single(config: Config) -> Iterator[str]:
    for table in dataclasses.fields(config):
        section = getattr(config, table.name)
        for option in dataclasses.fields(section):
            value = getattr(section, option.name)
            name = f"{table.name}.{option.name}"
            if isinstance(value, float) and not math.isfinite(value):
                yield f"{name} must be finite, got {value}"
            rule = RULES.get(table.name, {}).get(option.name)
            if rule and not isinstance(value, str) and not rule[0](value):
                yield f"{name} {rule[1]}, got {value}"
            if isinstance(value, int) and value >= 2**63:
                yield f"{name} must stay below 2^63, got {value}"
    goal_parts(config.training.select)


def _together(config: Config) -> Iterator[str]:
    model, training, strategy = config.model, config.training, config.strategy
    dims = (model.entity_dim, model.relation_dim)
    if model.decoder != "tucker" and "auto" not in dims and dims[0] != dims[1]:
        yield (
            f"model.relation_dim {dims[1]} must equal model.entity_dim {dims[0]}: "
            f"only tucker takes another, not {model.decoder}"
        )
    if strategy.name == "logit-adjustment" and training.loss != "ce":
        yield 'strategy.name "logit-adjustment" needs training.loss "ce" (--loss ce)'
    fixed = strategy.fixed_lambda
    if fixed != "none" and strategy.lambda_range == "half" and fixed < 0.5:
        yield f'strategy.fixed_lambda {fixed} lies outside lambda_range "half", which is [0.5, 1]'
    if config.pretrain.run and config.pretrain.enabled is False:
        yield "pretrain.run names a run, but pretrain.enabled is false (--no-pretrain)"
    if model.encoder == "lookup" and model.fanout:
        yield 'model.fanout samples neighbours, which model.encoder "lookup" does not read'
    yield from _smoothing(config)
    yield from _relation_prediction(config)


def _relation_prediction(config: Config) -> Iterator[str]:
    able = [name for name, decoder in DECODERS.items() if decoder.predicts_relations]
    for table in ("training", "pretrain"):
        weight = _inherit(config, table, "relation_prediction")
        if weight and config.model.decoder not in able:
            yield (
                f"{table}.relation_prediction {weight}: the scores of model.decoder "
                f'"{config.model.decoder}" are no product with the relation; '
                f"those of these are: {', '.join(able)}"
            )


def _smoothing(config: Config) -> Iterator[str]:
    for table in ("training", "pretrain"):
        loss, mass, share = (
            _inherit(config, table, key) for key in ("loss", "smoothing_mass", "label_smoothing")
        )
        if loss == "ce" and mass != "auto" and share not in (0, mass):
            yield (
                f'{table}.smoothing_mass {mass}: {table}.loss "ce" spreads ε itself '
                f'({share}); leave smoothing_mass at "auto"'
            )


def _inherit(config: Config, table: str, key: str) -> Any:
    value = getattr(getattr(config, table), key)
    return getattr(config.training, key) if value == "same" else value


def _against(config: Config, kg: KnowledgeGraph) -> Iterator[str]:
    if config.training.select != MRR:
        goal_weights(config.training.select, kg, evaluation_queries(kg, "valid"))
    tables = ["training", "pretrain"] if config.pretrain.enabled else ["training"]
    for table in tables:
        section = getattr(config, table)
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
