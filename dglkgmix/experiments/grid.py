"""Experiment files: lists of data, models, encoders, strategies, any option, and seeds.

What its tables and keys mean stands in ``docs/guides/experiments.md``, which tests hold to this
module.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dglkgmix.config.classes import DECODERS, ENCODERS, STRATEGIES, admit, options_of
from dglkgmix.config.settings import OPTIONS
from dglkgmix.config.toml import close, parse, refuse_unknown, typed
from dglkgmix.errors import ConfigError
from dglkgmix.kg.degrees import DEFAULT_BINS, DegreeBins

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
class Comparison:
    """Settings with the values of ``of`` are tested against those with ``against`` in their place.

    Both map the same axes to one value each; all other axes are alike on both sides.
    """

    of: Mapping[str, Any]
    against: Mapping[str, Any]

    def partner(self, axes: Mapping[str, Any]) -> dict[str, Any] | None:
        """The axes of what a setting is tested against; None where it is not meant."""
        meant = all(axes[axis] == value for axis, value in self.of.items())
        return {**axes, **self.against} if meant else None


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
    variant_recipes: dict[str, str | None] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()

    def combinations(self) -> list[dict[str, Any]]:
        """Axis → value of every cell, seeds left out; the last axis moves fastest."""
        return [
            dict(zip(self.axes, values, strict=True))
            for values in itertools.product(*self.axes.values())
        ]


def parse_experiment(text: str, where: str = "experiment") -> Experiment:
    """Check the text of an experiment file.

    Raises:
        ConfigError: unknown keys (with close matches), values of another type, or axes that
            contradict each other; the message starts with ``where``.
    """
    try:
        tables = parse(text, where)
    except ConfigError as error:
        # ``strategy = …`` and ``strategy.threshold = …`` in one table are no TOML.
        grid = re.search(r"^\s*\[grid\](.*?)(?=^\s*\[|\Z)", text, re.MULTILINE | re.DOTALL)
        option = rf"^\s*((?:{'|'.join(AXES)})\.\w+)\s*="
        found = re.search(option, grid[1], re.MULTILINE) if grid else None
        raise ConfigError(f"{error}. {_quotes(found[1])}" if found else str(error)) from None
    known_tables = ("experiment", "grid", "settings", "variants", "comparisons")
    refuse_unknown(tables, known_tables, where)
    for name in ("experiment", "grid"):
        if name not in tables:
            raise ConfigError(f"{where}: the table [{name}] is missing")
    tables = {"settings": {}, "variants": {}, "comparisons": []} | tables
    for name in known_tables:
        typed(tables, name, list if name == "comparisons" else dict, where)
    known = known_options(tables, where)
    head = _head(tables["experiment"], f"{where}: [experiment]")
    axes = _axes(tables["grid"], tables["variants"], f"{where}: [grid]", known)
    settings, recipe = _cell_options(tables["settings"], f"{where}: [settings]", known, axes)
    variants, recipes = {}, {}
    for name in tables["variants"]:
        place = f"{where}: [variants.{name}]"
        table = typed(tables["variants"], name, dict, place)
        variants[name], recipes[name] = _cell_options(table, place, known, axes)
    head.setdefault("baseline", "standard" if "standard" in axes["strategy"] else None)
    if head["baseline"] not in (None, *axes["strategy"]):
        hint = close(head["baseline"], axes["strategy"])
        raise ConfigError(
            f"{where}: [experiment]: baseline {head['baseline']!r} is not in the grid{hint}"
        )
    comparisons = tuple(
        parse_comparison(table, axes, f"{where}: [[comparisons]] {i}")
        for i, table in enumerate(tables["comparisons"], 1)
    )
    return Experiment(
        **head,
        axes=axes,
        recipe=recipe,
        settings=settings,
        variants=variants,
        variant_recipes=recipes,
        comparisons=comparisons,
    )


def parse_comparison(table: Any, axes: Mapping[str, Sequence[Any]], where: str) -> Comparison:
    """Check one ``[[comparisons]]`` table.

    Raises:
        ConfigError: no ``of`` and ``against`` with the same axes and other values of the grid.
    """
    if not isinstance(table, dict) or set(table) != {"of", "against"}:
        raise ConfigError(f"{where}: must be a table with of and against")
    sides: list[Options] = []
    for side in ("of", "against"):
        place = f"{where}: {side}"
        given = flatten(typed(table, side, dict, where), place, axes)
        for axis, value in given.items():
            is_bool = isinstance(value, bool)  # 1 is 1.0, but not true.
            same = [x for x in axes[axis] if x == value and isinstance(x, bool) == is_bool]
            if not same:
                hint = close(value, axes[axis]) if isinstance(value, str) else ""
                raise ConfigError(f"{place}: no cell has {axis} {value!r}{hint}")
            given[axis] = same[0]
        sides.append(given)
    of, against = sides
    if set(of) != set(against) or not of:
        raise ConfigError(f"{where}: of and against must name the same axes, at least one")
    if of == against:
        raise ConfigError(f"{where}: of and against are the same")
    return Comparison(of, against)


def known_options(tables: Mapping[str, Any], where: str) -> dict[str, tuple[str, str] | None]:
    """All options, with those of the classes of the user's that a file names anywhere.

    Returns:
        option → None, or the option that names its class and the class's name.

    Raises:
        ConfigError: a class that cannot be imported.
    """
    known: dict[str, tuple[str, str] | None] = dict.fromkeys(OPTIONS)
    left: list[tuple[str, Any]] = [("", tables)]
    while left:
        key, value = left.pop(0)
        if isinstance(value, Mapping):
            left += [(f"{key}.{name}".lstrip("."), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            left += [(key, inner) for inner in value]
        elif isinstance(value, str) and ":" in value:
            chooser = _AXIS_OPTIONS.get(key, ".".join(key.split(".")[-2:]))
            if chooser in _AXIS_OPTIONS.values():
                kind = OPTIONS[chooser].classes
                name = admit(kind, value, where=f"{where}: {key}")
                known |= {o.key: (chooser, name) for o in options_of(kind, name).values()}
    return known


def parse_options(
    table: Mapping[str, Any], where: str, known: Collection[str]
) -> tuple[Options, str | None]:
    """A table of options, flat, and its ``recipe``.

    Raises:
        ConfigError: an option that is not ``known``, or a recipe that is no template.
    """
    options = {key: value for key, value in table.items() if key != "recipe"}
    if "recipe" not in table:
        return flatten(options, where, known), None
    recipe: str = typed(table, "recipe", str, where)
    try:
        recipe.format(data="", model="", encoder="", strategy="")
    except (KeyError, IndexError, ValueError):
        raise ConfigError(
            f"{where}: recipe {recipe!r} may hold {{data}}, {{model}}, {{encoder}} and {{strategy}}"
        ) from None
    return flatten(options, where, known), recipe


def _cell_options(
    table: Mapping[str, Any], where: str, known: Collection[str], axes: Collection[str]
) -> tuple[Options, str | None]:
    options, recipe = parse_options(table, where, known)
    for option in options:
        if option in axes:
            raise ConfigError(f"{where}: {option} is an axis of [grid], too")
        if option in ("data.source", "model.decoder", "model.encoder", "runtime.seed"):
            raise ConfigError(f"{where}: {option} is what [grid] and seeds are for")
    return options, recipe


def flatten(table: Mapping[str, Any], where: str, known: Collection[str]) -> Options:
    """``{"training": {"lr": 1}}`` as ``{"training.lr": 1}``; all but ``known`` are refused."""
    found: Options = {}
    for key, value in table.items():
        nested = isinstance(value, dict) and key not in known
        found |= {f"{key}.{k}": v for k, v in value.items()} if nested else {key: value}
    for name in found:
        if name not in known:
            raise ConfigError(f"{where}: unknown option {name!r}{close(name, known)}")
    return found


def _head(table: Mapping[str, Any], where: str) -> Options:
    refuse_unknown(table, _HEAD, where)
    if not table.get("name"):
        raise ConfigError(f"{where}: name is missing")
    head = {key: typed(table, key, _HEAD[key], where) for key in table}
    for key in head.keys() & {"seeds", "bins"}:
        values = head[key]
        if not values or any(type(value) is not int or value < 0 for value in values):
            raise ConfigError(f"{where}: {key} must be whole numbers from 0 up, not {values}")
        if len(set(values)) < len(values):
            raise ConfigError(f"{where}: {key}: a value stands there twice: {values}")
        head[key] = tuple(values)
    try:
        DegreeBins(head.get("bins", DEFAULT_BINS))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return head


def _quotes(option: str) -> str:
    return (
        f'Put the name in quotes, "{option}" = […]: without them, TOML takes it for a part of '
        f"{option.partition('.')[0]}"
    )


def _axes(
    grid: dict[str, Any], variants: Mapping[str, Any], where: str, known: Collection[str]
) -> dict[str, Any]:
    for axis in AXES:
        if isinstance(grid.get(axis), dict) and grid[axis]:
            raise ConfigError(f"{where}: {_quotes(f'{axis}.{next(iter(grid[axis]))}')}")
        if axis not in grid and axis != "encoder":
            raise ConfigError(f"{where}: the axis {axis!r} is missing")
    others = {key: value for key, value in grid.items() if key not in AXES}
    for key, value in others.items():
        if not isinstance(value, dict) and "." not in key:
            raise ConfigError(f"{where}: unknown axis {key!r}{close(key, list(AXES))}")
    axes = {axis: grid.get(axis, ["lookup"]) for axis in AXES} | flatten(others, where, known)
    allowed = AXES | {"strategy": (*STRATEGIES, *variants)}
    for axis in axes:
        # What says where a training runs would make cells that are one and the same training.
        if axis == "runtime.seed":
            raise ConfigError(f"{where}: {axis} is what seeds are for")
        if axis.startswith("runtime.") and axis != "runtime.precision":
            raise ConfigError(
                f"{where}: {axis} changes no setting of a model: put it in [settings]"
            )
    return {axis: _values(axes[axis], axis, allowed.get(axis, ()), where) for axis in axes}


def _values(values: Any, axis: str, allowed: Collection[str], where: str) -> tuple[Any, ...]:
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{where}: {axis} must be a list with at least one value, not {values!r}")
    for place, value in enumerate(values):
        if axis in AXES and not isinstance(value, str):
            raise ConfigError(f"{where}: {axis} must hold strings, not {value!r}")
        if allowed and value not in allowed and ":" not in value:
            hint = close(value, allowed)
            raise ConfigError(f"{where}: unknown {axis} {value!r}{hint}")
        if value in values[:place]:
            raise ConfigError(f"{where}: {axis} has {value!r} twice")
    return tuple(values)
