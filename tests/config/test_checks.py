from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dglkgmix.config import Config, ModelConfig, TrainingConfig, classes
from dglkgmix.config.checks import validate, validate_for
from dglkgmix.config.option import option
from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.distmult import DistMult
from dglkgmix.training.defaults import resolve

GRAPH = SimpleNamespace(
    num_entities=10,
    num_relations=1,
    num_edges=40,
    valid=[],
    train_index=SimpleNamespace(heads=torch.arange(25)),
)
SETTLED = [
    "training.batch_size=8",
    "training.smoothing_mass=0.1",
    "training.label_smoothing=0.1",
    "pretrain.enabled=false",
    "training.negatives=9",
]


class Bent(DistMult):
    class Options:
        bend: str = option(1, "Its default is of another type.")

    def __init__(self, entity_dim: int, relation_dim: int, bend: str) -> None:
        super().__init__(entity_dim, relation_dim)
        self.bend = bend


def test_the_defaults_are_sound() -> None:
    validate(Config())


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("training", {"lr": "0.1"}, 'training.lr: expected a number .*got "0.1"'),
        ("training", {"epochs": True}, "training.epochs: .* got true"),
        ("training", {"lr": np.float64(0.1)}, "training.lr: .* got numpy.float64 0.1"),
        ("training", {"lr": {(1, 2): 3}}, r"training.lr: .* got \{\(1, 2\): 3\}"),
        ("model", {"decoder": Bent}, "model.bend: .*got 1"),
    ],
)
def test_types_are_checked_in_python_too_and_those_of_own_defaults(
    table, options, message, monkeypatch
) -> None:
    monkeypatch.setattr(classes, "_named", {})
    section = {"training": TrainingConfig, "model": ModelConfig}[table](**options)
    with pytest.raises(ConfigError, match=message):
        validate(Config(**{table: section}))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.entity_dim=0", "model.entity_dim must be 1 or more, and at most .* got 0"),
        ("model.relation_dim=1048577", "model.relation_dim must be 1 or more, and at most"),
        ("training.lr=-0.1", "training.lr must be above 0, got -0.1"),
        ("training.lr=0", "training.lr must be above 0, got 0"),
        ("training.lr=inf", "training.lr must be finite, got inf"),
        ("training.lr=nan", "training.lr must be finite, got nan"),
        ("pretrain.lr=-1", "pretrain.lr must be above 0, got -1"),
        ("training.lr_decay=1.5", r"training.lr_decay must lie in \(0, 1\], got 1.5"),
        ("training.epochs=0", "training.epochs must be 1 or more, got 0"),
        ("training.batch_size=0", "training.batch_size must be 1 or more, got 0"),
        ("training.label_smoothing=1", r"training.label_smoothing must lie in \[0, 1\), got 1"),
        ("training.negatives=0", "training.negatives must be 1 or more"),
        ("training.clip=-1", "training.clip must be 0 or more"),
        ("training.patience=-1", "training.patience must be 0 or more"),
        ("strategy.alpha=0", "strategy.alpha must be above 0, got 0"),
        ("strategy.threshold=-1", "strategy.threshold must be 0 or more, got -1"),
        ("strategy.partners=0", "strategy.partners must be 1 or more"),
        ("strategy.fixed_lambda=1.1", r"strategy.fixed_lambda must lie in \[0, 1\], got 1.1"),
        ("strategy.gamma=-0.5", "strategy.gamma must be 0 or more, got -0.5"),
        ("strategy.reweight_up=-0.1", "strategy.reweight_up must be 0 or more, got -0.1"),
        ("strategy.adjustment_smoothing=0", "adjustment_smoothing must be above 0, got 0"),
        ("swa.every=0", "swa.every must be 1 or more, got 0"),
        ("swa.start=0", "swa.start must be 1 or more, got 0"),
        ("model.input_dropout=1", r"model.input_dropout must lie in \[0, 1\), got 1"),
        ("pretrain.hidden_dropout=-0.1", r"pretrain.hidden_dropout must lie in \[0, 1\)"),
        ("model.edge_dropout=1.2", r"model.edge_dropout must lie in \[0, 1\]"),
        ("runtime.seed=-1", "runtime.seed must lie in"),
        ("runtime.block=0", "runtime.block must be 1 or more"),
        ("data.split=[0.5, 0.1, 0.1]", "data.split must be three shares that add up to 1"),
        ("data.split=[0, 0.5, 0.5]", "data.split must be three shares"),
        ("data.split_seed=-1", r"data.split_seed must lie in \[0, 2\^32\), got -1"),
        (f"strategy.threshold={10**20}", r"strategy.threshold must stay below 2\^63, got 1000"),
        (f"training.epochs={2**63}", r"training.epochs must stay below 2\^63"),
    ],
)
def test_absurd_values_are_refused_by_name(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate(apply_overrides(Config(), [override]))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["strategy.name=logit-adjustment", "training.loss=bce"], 'needs training.loss "ce"'),
        (["strategy.fixed_lambda=0.2", "strategy.lambda_range=half"], "lies outside lambda_range"),
        (
            ["model.decoder=conve", "model.entity_dim=8", "model.relation_dim=4"],
            "conve takes no other",
        ),
        (["pretrain.run=x", "pretrain.enabled=false"], "pretrain.run names a run"),
        (["pretrain.run=x", "training.parent=y"], "training.parent .* leave pretrain.run"),
        (["pretrain.enabled=true", "training.parent=y"], "training.parent .* leave pretrain.run"),
        (["strategy.draws=3", "strategy.partners=2"], "draws 3 exceeds strategy.partners 2"),
        (["model.fanout=3"], "model.fanout samples neighbours"),
        (
            ["model.decoder=conve", "training.relation_prediction=0.1"],
            'on 0.1: .*"conve" are no product .*: tucker, distmult, complex, rescal',
        ),
        (
            ["model.decoder=transe", "pretrain.relation_prediction=1"],
            'pretrain.relation_prediction 1.0: .*"transe" are no product',
        ),
        (
            ["model.decoder=conve", "training.loss=ce", "training.smoothing_mass=1"],
            'training.loss "ce" spreads ε itself',
        ),
        (
            ["model.decoder=conve", "pretrain.loss=ce", "pretrain.smoothing_mass=1"],
            'pretrain.loss "ce" spreads ε itself',
        ),
        (
            ["model.decoder=conve", "pretrain.loss=ce", "training.smoothing_mass=1"],
            'pretrain.loss "ce" spreads ε itself',
        ),
        (
            ["training.schedule=plateau", "training.lr_decay=1"],
            "training.schedule .* by training.lr_decay, which is 1",
        ),
        (
            ["training.schedule=plateau", "pretrain.lr_decay=1", "pretrain.enabled=true"],
            "pretrain.schedule .* by pretrain.lr_decay, which is 1",
        ),
        (
            ["training.schedule=plateau", "training.patience=3"],
            "training.patience 3 ends the stage before training.lr_patience 3",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate(apply_overrides(Config(), overrides))


@pytest.mark.parametrize(
    "overrides",
    [
        ["strategy.name=logit-adjustment", "training.loss=ce"],
        ["strategy.fixed_lambda=0.5", "strategy.lambda_range=half"],
        ["model.decoder=tucker", "model.entity_dim=8", "model.relation_dim=4"],
        ["model.decoder=complex", "training.relation_prediction=0.1", "training.select=zero,low=3"],
        ["model.edge_dropout=1", "model.encoder=rgcn", "model.fanout=3"],
        ["training.loss=ce", "training.smoothing_mass=0.1", "training.label_smoothing=0.1"],
        ["training.loss=ce", "training.smoothing_mass=1", "training.label_smoothing=0"],
        ["strategy.threshold=0"],
        ["training.schedule=plateau", "training.patience=4"],
        ["training.schedule=plateau", "training.patience=0"],
        ["training.schedule=plateau", "pretrain.lr_decay=1", "pretrain.enabled=false"],
    ],
)
def test_sound_combinations_pass(overrides: list[str]) -> None:
    validate(apply_overrides(Config(), overrides))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.batch_size=26", "training.batch_size 26 exceeds the graph's 25 .*queries"),
        ("training.smoothing_mass=1.5", "smoothing_mass 1.5 over 10 entities exceeds"),
        ("training.schedule=plateau", "needs validation triples"),
        ("training.relation_prediction=1", "only one: leave it out, or set .* to .all."),
    ],
)
def test_what_a_graph_is_too_small_for_is_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        validate_for(apply_overrides(Config(), [*SETTLED, override]), GRAPH)


def test_limits_of_1_k_count_triples_and_entities() -> None:
    settled = [*SETTLED, "training.regime=1-k"]
    validate_for(apply_overrides(Config(), [*settled, "training.batch_size=40"]), GRAPH)
    with pytest.raises(ConfigError, match=r"training.batch_size 41 exceeds the graph's 40"):
        validate_for(apply_overrides(Config(), [*settled, "training.batch_size=41"]), GRAPH)
    with pytest.raises(ConfigError, match=r"training.negatives 10 must stay below .* 10 entities"):
        validate_for(apply_overrides(Config(), [*settled, "training.negatives=10"]), GRAPH)


def test_1_k_needs_a_second_entity() -> None:
    """As the defaults have it: one negative of one entity."""
    for first in ("training.regime=1-k", "pretrain.regime=1-k"):
        chosen = [first, "pretrain.enabled=true", "training.negatives=1"]
        kg = KnowledgeGraph.from_arrays([(0, 0, 0)], entities=1)
        settled = resolve(apply_overrides(Config(), chosen), kg)
        with pytest.raises(ConfigError, match=r'regime "1-k" draws .* single entity: take 1-n'):
            validate_for(settled, kg)


def test_the_largest_sizes_that_fit_pass() -> None:
    at_limit = ["training.batch_size=25", "training.smoothing_mass=1"]
    validate_for(apply_overrides(Config(), [*SETTLED, *at_limit]), GRAPH)


def test_the_first_stage_is_checked_where_there_is_one() -> None:
    wrong = [
        *SETTLED,
        "pretrain.batch_size=99",
        "pretrain.smoothing_mass=0.1",
        "pretrain.label_smoothing=0.1",
        "pretrain.negatives=5",
    ]
    validate_for(apply_overrides(Config(), wrong), GRAPH)
    with pytest.raises(ConfigError, match=r"pretrain.batch_size 99 exceeds"):
        validate_for(apply_overrides(Config(), [*wrong, "pretrain.enabled=true"]), GRAPH)
