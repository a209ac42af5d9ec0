"""Experiment files: lists of data, models, encoders, strategies, any option, and seeds.

An experiment file has these tables; ``docs`` and ``dglkgmix experiment --help`` show examples.

``[experiment]``
    ``name`` (required); ``about``; ``seeds`` (default ``[0]``); ``baseline``, the strategy that
    every other is tested against (default ``"standard"`` where the grid has it); ``bins``, edges of
    the degree bins (default ``[1, 10, 50]``); ``distances = true`` to measure embedding distances;
    ``finding``, what is to be read beside the results.
``[grid]``
    Axes, each a list: ``data`` (catalog names, folders or files), ``model``, ``strategy``
    (strategies, or names of variants), all required; ``encoder`` (default ``["lookup"]``); and any
    option as ``"training.regime" = ["1-n", "1-k"]``. A class of the user's is ``module:Class``; its
    options go to the cells that have it. Cells are all combinations, for every seed.
``[settings]``
    Options of every cell, and ``recipe``: what they start from. ``{data}``, ``{model}``,
    ``{encoder}`` and ``{strategy}`` in it stand for the cell's own.
``[variants.NAME]``
    Options (and ``recipe``) of a strategy called ``NAME``: ``strategy.fixed_lambda = 1``.
``[[comparisons]]``
    ``of`` and ``against`` (axis → value): tests beyond those against the baseline.

Later wins: recipe, settings, axes, variant, seed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dglkgmix.config.classes import DECODERS, ENCODERS, STRATEGIES, admit, options_of
from dglkgmix.config.settings import OPTIONS
from dglkgmix.errors import ConfigError
from dglkgmix.experiments import toml_files
from dglkgmix.experiments.comparisons import Comparison, parse_comparison
from dglkgmix.experiments.recipes import FOLDER
from dglkgmix.kg.degrees import DEFAULT_BINS, DegreeBins
from dglkgmix.paths import path_of, read_utf8

AXES: dict[str, tuple[str, ...]] = {
    "data": (),
    "model": tuple(DECODERS),
    "encoder": tuple(ENCODERS),
    "strategy": (),
}
# The options that name classes, by the axis that stands for each.
_AXIS_OPTIONS = {
    "grid.model": "model.decoder",
    "grid.encoder": "model.encoder",
    "grid.strategy": "strategy.name",
}
_TABLES = ("experiment", "grid", "settings", "variants", "comparisons")
_HEAD: dict[str, type] = {
    "name": str,
    "about": str,
    "seeds": list,
    "baseline": str,
    "bins": list,
    "distances": bool,
    "finding": str,
}
Options = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """What an experiment file says, checked. ``axes`` maps every axis to its values."""

    name: str
    axes: dict[str, tuple[Any, ...]]
    about: str = ""
    seeds: tuple[int, ...] = (0,)
    baseline: str | None = None
    bins: tuple[int, ...] = (1, 10, 50)
    distances: bool = False
    finding: str = ""
    recipe: str | None = None
    settings: Options = field(default_factory=dict)
    variants: dict[str, Options] = field(default_factory=dict)
    variant_recipes: dict[str, str] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()

    def combinations(self) -> list[dict[str, Any]]:
        """Axis → value of every cell, seeds left out; the last axis moves fastest."""
        return [
            dict(zip(self.axes, values, strict=True))
            for values in itertools.product(*self.axes.values())
        ]


def experiment_text(name: str) -> str:
    """The text of an experiment file, or of the packaged experiment called ``name``.

    Raises:
        ConfigError: no such file, and no packaged experiment of that name.
    """
    folder = FOLDER / "experiments"
    if name in packaged_experiments():
        return read_utf8(folder / f"{name}.toml")
    if not name.endswith(".toml") and not path_of(name).exists():
        close = toml_files.close(name, packaged_experiments())
        raise ConfigError(f"{name}: neither a file nor a packaged experiment{close}")
    return read_utf8(name)


def packaged_experiments() -> list[str]:
    """The experiments that come with the package, sorted."""
    return sorted(path.stem for path in (FOLDER / "experiments").glob("*.toml"))


def parse_experiment(text: str, where: str = "experiment") -> Experiment:
    """Check the text of an experiment file.

    Raises:
        ConfigError: unknown keys (with close matches), values of another type, or axes that
            contradict each other; the message starts with ``where``.
    """
    try:
        tables = toml_files.parse(text, where)
    except ConfigError as error:
        raise ConfigError(f"{error}{_hint_at_quotes(text)}") from None
    toml_files.refuse_unknown(tables, _TABLES, where)
    for name in ("experiment", "grid"):
        if name not in tables:
            raise ConfigError(f"{where}: the table [{name}] is missing")
    known = known_options(tables, where)
    head = _head(toml_files.typed(tables, "experiment", dict, where), f"{where}: [experiment]")
    settings = dict(_table(tables, "settings", where))
    recipe = pop_recipe(settings, f"{where}: [settings]")
    variants, recipes = _variants(_table(tables, "variants", where), where, known)
    axes = _axes(toml_files.typed(tables, "grid", dict, where), variants, f"{where}: [grid]", known)
    comparisons = toml_files.typed(
        {"comparisons": tables.get("comparisons", [])}, "comparisons", list, where
    )
    experiment = Experiment(
        **head,
        axes=axes,
        recipe=recipe,
        settings=flatten(settings, f"{where}: [settings]", known),
        variants=variants,
        variant_recipes=recipes,
        comparisons=tuple(
            parse_comparison(table, axes, f"{where}: [[comparisons]] {i}")
            for i, table in enumerate(comparisons, 1)
        ),
    )
    return _with_baseline(_without_clashes(experiment, where), where)


def known_options(tables: Mapping[str, Any], where: str) -> dict[str, tuple[str, str] | None]:
    """All options, with those of the classes of the user's that a file names anywhere.

    Returns:
        option → None, or the option that names its class and the class's name.

    Raises:
        ConfigError: a class that cannot be imported.
    """
    known: dict[str, tuple[str, str] | None] = dict.fromkeys(OPTIONS)
    for key, value in _leaves(tables):
        chooser = _AXIS_OPTIONS.get(key, ".".join(key.split(".")[-2:]))
        if chooser in _AXIS_OPTIONS.values() and isinstance(value, str) and ":" in value:
            kind = OPTIONS[chooser].classes
            name = admit(kind, value, where=f"{where}: {key}")
            known |= {o.key: (chooser, name) for o in options_of(kind, name).values()}
    return known


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested tables and lists, with its dotted key."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, key)
    else:
        yield key, value


def flatten(
    table: Mapping[str, Any], where: str, known: Collection[str] = OPTIONS.keys()
) -> Options:
    """``{"training": {"lr": 1}}`` as ``{"training.lr": 1}``; all but ``known`` are refused."""
    found: Options = {}
    for key, value in table.items():
        nested = isinstance(value, dict) and key not in known
        found |= {f"{key}.{k}": v for k, v in value.items()} if nested else {key: value}
    for name in found:
        if name not in known:
            raise ConfigError(f"{where}: unknown option {name!r}{toml_files.close(name, known)}")
    return found


def _head(table: Mapping[str, Any], where: str) -> Options:
    toml_files.refuse_unknown(table, _HEAD, where)
    if not table.get("name"):
        raise ConfigError(f"{where}: name is missing")
    head = {key: toml_files.typed(table, key, _HEAD[key], where) for key in table}
    for key in ("seeds", "bins"):
        if key in head:
            head[key] = _whole_numbers(head[key], f"{where}: {key}")
    try:
        DegreeBins(head.get("bins", DEFAULT_BINS))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return head


def _whole_numbers(values: Sequence[Any], where: str) -> tuple[int, ...]:
    if not values or any(type(value) is not int or value < 0 for value in values):
        raise ConfigError(f"{where} must be whole numbers from 0 up, not {list(values)}")
    if len(set(values)) < len(values):
        raise ConfigError(f"{where}: a value stands there twice: {list(values)}")
    return tuple(values)


def _hint_at_quotes(text: str) -> str:
    """What to do about ``strategy = …`` and ``strategy.threshold = …`` in one table."""
    grid = re.search(r"^\s*\[grid\](.*?)(?=^\s*\[|\Z)", text, re.MULTILINE | re.DOTALL)
    lines = rf"^\s*(?:{'|'.join(AXES)})\.\w+(?=\s*=)"
    found = re.search(lines, grid[1], re.MULTILINE) if grid else None
    return f". {_quotes(found[0].strip())}" if found else ""


def _quotes(option: str) -> str:
    return (
        f'Put the name in quotes, "{option}" = […]: without them, TOML takes it for a part of '
        f"{option.partition('.')[0]}"
    )


def _axes(
    grid: dict[str, Any], variants: Mapping[str, Any], where: str, known: Collection[str]
) -> dict[str, Any]:
    given = {axis: grid[axis] for axis in AXES if axis in grid}
    for axis, value in given.items():
        if isinstance(value, dict) and value:
            raise ConfigError(f"{where}: {_quotes(f'{axis}.{next(iter(value))}')}")
    for axis in ("data", "model", "strategy"):
        if axis not in given:
            raise ConfigError(f"{where}: the axis {axis!r} is missing")
    others = {key: value for key, value in grid.items() if key not in AXES}
    for key, value in others.items():
        if not isinstance(value, dict) and "." not in key:
            raise ConfigError(f"{where}: unknown axis {key!r}{toml_files.close(key, list(AXES))}")
    options = flatten(others, where, known)
    _refuse_machine(options, where)
    axes = {"encoder": ["lookup"]} | given | options
    order = [*AXES, *(key for key in axes if key not in AXES)]
    allowed = AXES | {"strategy": (*STRATEGIES, *variants)}
    return {axis: _values(axes[axis], axis, allowed.get(axis, ()), where) for axis in order}


def _refuse_machine(axes: Mapping[str, Any], where: str) -> None:
    """What says where a training runs would make cells that are one and the same training."""
    for axis in axes:
        if axis == "runtime.seed":
            raise ConfigError(f"{where}: {axis} is what seeds are for")
        if axis.startswith("runtime.") and axis != "runtime.precision":
            raise ConfigError(
                f"{where}: {axis} changes no setting of a model: put it in [settings]"
            )


def _values(values: Any, axis: str, allowed: Sequence[str], where: str) -> tuple[Any, ...]:
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{where}: {axis} must be a list with at least one value, not {values!r}")
    for place, value in enumerate(values):
        if axis in AXES and not isinstance(value, str):
            raise ConfigError(f"{where}: {axis} must hold strings, not {value!r}")
        if allowed and value not in allowed and ":" not in value:
            raise ConfigError(
                f"{where}: unknown {axis} {value!r}{toml_files.close(value, allowed)}"
            )
        if value in values[:place]:
            raise ConfigError(f"{where}: {axis} has {value!r} twice")
    return tuple(values)


def _table(tables: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found: dict[str, Any] = toml_files.typed({key: tables.get(key, {})}, key, dict, where)
    return found


def pop_recipe(table: dict[str, Any], where: str) -> str | None:
    """Take ``recipe`` out of a table of options; ConfigError where it is no template."""
    if "recipe" not in table:
        return None
    recipe: str = toml_files.typed(table, "recipe", str, where)
    try:
        recipe.format(data="", model="", encoder="", strategy="")
    except (KeyError, IndexError, ValueError):
        raise ConfigError(
            f"{where}: recipe {recipe!r} may hold {{data}}, {{model}}, {{encoder}} and {{strategy}}"
        ) from None
    del table["recipe"]
    return recipe


def _variants(
    tables: Mapping[str, Any], where: str, known: Collection[str]
) -> tuple[dict[str, Options], dict[str, str]]:
    variants, recipes = {}, {}
    for name in tables:
        place = f"{where}: [variants.{name}]"
        options = dict(toml_files.typed(tables, name, dict, place))
        recipe = pop_recipe(options, place)
        if recipe is not None:
            recipes[name] = recipe
        variants[name] = flatten(options, place, known)
    return variants, recipes


def _without_clashes(experiment: Experiment, where: str) -> Experiment:
    axes = [axis for axis in experiment.axes if axis not in AXES]
    places = {f"[variants.{name}]": options for name, options in experiment.variants.items()}
    places["[settings]"] = experiment.settings
    for place, options in places.items():
        for axis in axes:
            if axis in options:
                raise ConfigError(f"{where}: {axis} is an axis of [grid] and set in {place}, too")
    for option in ("data.source", "model.decoder", "model.encoder", "runtime.seed"):
        if any(option in options for options in places.values()):
            raise ConfigError(f"{where}: {option} is what [grid] and seeds are for")
    return experiment


def _with_baseline(experiment: Experiment, where: str) -> Experiment:
    strategies = experiment.axes["strategy"]
    if experiment.baseline is None:
        baseline = "standard" if "standard" in strategies else None
        return replace(experiment, baseline=baseline)
    if experiment.baseline not in strategies:
        close = toml_files.close(experiment.baseline, strategies)
        raise ConfigError(
            f"{where}: [experiment]: baseline {experiment.baseline!r} is not in the grid{close}"
        )
    return experiment
