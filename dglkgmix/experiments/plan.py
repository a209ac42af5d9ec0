"""From an experiment to trainings: one for each distinct setting, pre-trainings shared."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dglkgmix.config import (
    Config,
    DataConfig,
    PretrainConfig,
    RuntimeConfig,
    Settled,
    StrategyConfig,
)
from dglkgmix.config.checks import validate, validate_for
from dglkgmix.config.classes import STRATEGIES
from dglkgmix.config.relevance import idle
from dglkgmix.config.settings import OPTIONS
from dglkgmix.config.settings import options as options_of
from dglkgmix.config.toml import merge, set_option
from dglkgmix.errors import ConfigError
from dglkgmix.experiments.grid import AXES, Experiment, Options
from dglkgmix.experiments.recipes import load_recipe, model_name
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training.defaults import resolve
from dglkgmix.training.stages import PRETRAIN, stages

_CHOOSERS = [key for key, made in OPTIONS.items() if made.classes]
Graphs = Callable[[DataConfig], KnowledgeGraph]


@dataclass(frozen=True)
class Training:
    """One run to make.

    Attributes:
        name: its folder; ends with the first digits of a digest of the settings, so that other
            settings never meet its files.
        config: nothing left at "auto"; where ``needs`` is set, the first stage is that run's.
        needs: the training whose embeddings this one starts from.
    """

    name: str
    config: Settled
    needs: str | None = None


@dataclass(frozen=True)
class Cell:
    """A place of the grid: its value on every axis, a seed, and the training that fills it."""

    axes: Mapping[str, Any]
    seed: int
    training: str


@dataclass(frozen=True)
class Plan:
    """Cells, and the trainings that fill them: each after the one that it needs."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    trainings: dict[str, Training]


def make_plan(experiment: Experiment, graphs: Graphs, *, jobs: int = 1) -> Plan:
    """Settle and check every cell, before anything is trained.

    Cells with equal settings share a training, and so do equal pre-trainings; a standard cell with
    the settings of a pre-training is that pre-training.

    ``graphs`` loads the graph of a ``[data]`` table. Of several ``jobs`` all share the processor's
    threads where "auto" left that open.

    Raises:
        ConfigError: settings that make no sense; the message names the cell.
        DataError: data that cannot be read.
    """
    by_digest: dict[str, Training] = {}
    cells = []
    for seed in experiment.seeds:
        for axes in experiment.combinations():
            config = _settled(experiment, axes, seed, graphs, jobs)
            key = digest(config)
            options = [f"{k.rpartition('.')[2]}={v}" for k, v in axes.items() if k not in AXES]
            model = model_name(axes["encoder"], axes["model"]).replace("+", "_")
            labels = [slug(axes["data"]), model, axes["strategy"], *options]
            by_digest.setdefault(key, Training(_name(labels, seed, key), config))
            cells.append(Cell(axes, seed, by_digest[key].name))
    ordered: dict[str, Training] = {}
    for training in list(by_digest.values()):
        first = pretraining_config(training.config)
        if first is None:
            ordered.setdefault(training.name, training)
            continue
        key = digest(first)
        model = model_name(first.model.encoder, first.model.decoder).replace("+", "_")
        name = _name([slug(first.data.source), model, PRETRAIN], first.runtime.seed, key)
        needed = by_digest.setdefault(key, Training(name, first))
        ordered.setdefault(needed.name, needed)
        ordered.setdefault(training.name, dataclasses.replace(training, needs=needed.name))
    return Plan(experiment, tuple(cells), ordered)


def cell_config(experiment: Experiment, axes: Mapping[str, Any], seed: int) -> Config:
    """The settings of a cell, "auto" and "same" not settled yet.

    Raises:
        ConfigError: a value of another type than its option; an unknown recipe.
    """
    strategy = axes["strategy"]
    template = experiment.variant_recipes.get(strategy) or experiment.recipe
    named = {axis: slug(axes[axis]) for axis in AXES}
    config = Config() if template is None else load_recipe(template.format(**named))
    options = experiment.settings | {k: v for k, v in axes.items() if k not in AXES}
    options |= {"data.source": axes["data"], "model.decoder": axes["model"]}
    options["model.encoder"] = axes["encoder"]
    if strategy in STRATEGIES or ":" in strategy:
        options["strategy.name"] = strategy
    options |= experiment.variants.get(strategy, {})
    where = describe(axes, seed)
    config = set_options(config, {k: options[k] for k in _CHOOSERS if k in options}, where=where)
    # A class of the user's brings options that other cells do not have.
    mine = options_of(config)
    options = {key: value for key, value in options.items() if key in mine}
    return set_options(config, options | {"runtime.seed": seed}, where=where)


def set_options(config: Config, options: Options, *, where: str) -> Config:
    """Replace many options called ``table.option`` at once.

    Raises:
        ConfigError: an unknown option, or a value of another type.
    """
    tables: dict[str, Options] = {}
    for option, value in options.items():
        table, _, name = option.partition(".")
        tables.setdefault(table, {})[name] = value
    return merge(config, tables, where=where)


def describe(axes: Mapping[str, Any], seed: int) -> str:
    """A cell in words: ``codex-s, conve, mixup, strategy.partners = 5, seed 0``."""
    parts = [str(axes["data"]), model_name(axes["encoder"], axes["model"]), str(axes["strategy"])]
    parts += [f"{axis} = {value}" for axis, value in axes.items() if axis not in AXES]
    return ", ".join([*parts, f"seed {seed}"])


def digest(config: Settled) -> str:
    """Equal for settings that train the same model: what is not read is left out.

    So are the device and its threads: they change bits, but no setting. Precision is one.
    """
    plain = machine_free(config)
    read = [key for key in options_of(plain) if idle(plain, key) is None]
    text = "\n".join(f"{key} = {plain.value(key)!r}" for key in read)
    return hashlib.sha256(text.encode()).hexdigest()


def machine_free(config: Config) -> Config:
    """``config`` without where and how it runs; seed and precision, which are settings, stay."""
    runtime = RuntimeConfig(seed=config.runtime.seed, precision=config.runtime.precision)
    return dataclasses.replace(config, runtime=runtime)


def pretraining_config(config: Settled) -> Settled | None:
    """The first stage of settled settings as a training of its own; None where there is none."""
    first = stages(config)[0]
    if first.name != PRETRAIN:
        return None
    return Settled(
        data=config.data,
        model=first.model,
        training=first.training,
        strategy=StrategyConfig(),
        pretrain=PretrainConfig(enabled=False),
        swa=first.swa,
        runtime=config.runtime,
    )


def _settled(
    experiment: Experiment, axes: Mapping[str, Any], seed: int, graphs: Graphs, jobs: int
) -> Settled:
    try:
        config = cell_config(experiment, axes, seed)
        validate(config)
        if jobs > 1 and config.runtime.threads == "auto":
            threads = max(1, torch.get_num_threads() // jobs)
            config = set_option(config, "runtime.threads", threads)
        kg = graphs(config.data)
        settled = resolve(config, kg)
        validate_for(settled, kg)
        return settled
    except ConfigError as error:
        where = describe(axes, seed)
        text = str(error)
        raise ConfigError(text if text.startswith(where) else f"{where}: {text}") from None


def _name(labels: list[str], seed: int, key: str) -> str:
    # A run's folder, and files called after it, must stay a file's name everywhere.
    text = re.sub(r"[^A-Za-z0-9_.=+-]", "-", "_".join([*labels, f"s{seed}"]))
    return f"{text[:160]}-{key[:8]}"


def slug(source: str) -> str:
    """The last part of a path without a file's ending; a catalog name is its own."""
    return re.sub(r"(\.txt)?(\.csv)?(\.tsv)?$", "", Path(source).name) or "data"
