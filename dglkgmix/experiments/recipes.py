"""Recipes: settings by name, with what each of them should reach.

A recipe is a configuration file with one more table, ``[recipe]``: ``about``, and where a figure
exists ``expected`` (test MRR, filtered, both directions) with ``expected_from``, ``"paper"`` or
``"measured"``. The packaged ones are named ``<data>-<model>-<strategy>``; a path to a file, as
``dglkgmix tune`` writes one, does wherever a name does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dglkgmix.config import Config
from dglkgmix.config.toml import close, merge, parse, refuse_unknown, typed
from dglkgmix.errors import ConfigError, UnknownNameError
from dglkgmix.paths import path_of, read_utf8

FOLDER = Path(__file__).resolve().parents[1] / "recipes"


@dataclass(frozen=True)
class Recipe:
    """Settings with a name, and the test MRR that they should reach (``None``: not measured)."""

    name: str
    config: Config
    about: str = ""
    expected: float | None = None
    expected_from: str | None = None

    @property
    def model(self) -> str:
        """The decoder, with the encoder in front where there is one: ``rgcn+distmult``."""
        return model_name(self.config.model.encoder, self.config.model.decoder)

    def row(self) -> dict[str, Any]:
        """The keys of ``dglkgmix recipes --json``."""
        return {
            "name": self.name,
            "data": self.config.data.source,
            "model": self.model,
            "strategy": self.config.strategy.name,
            "regime": self.config.training.regime,
            "expected": self.expected,
            "expected_from": self.expected_from,
            "about": self.about,
        }


def model_name(encoder: str, decoder: str) -> str:
    """``conve``, or ``rgcn+conve`` where an encoder does more than look up."""
    return decoder if encoder == "lookup" else f"{encoder}+{decoder}"


def recipe_names() -> list[str]:
    """The packaged recipes, sorted."""
    return packaged(".")


def packaged(kind: str) -> list[str]:
    """The ``experiments`` or ``spaces`` that come with the package, sorted."""
    return sorted(path.stem for path in (FOLDER / kind).glob("*.toml"))


def packaged_text(kind: str, name: str) -> str:
    """The text of a file, or of the one of the packaged ``experiments`` or ``spaces`` of that name.

    Raises:
        ConfigError: no such file, and none of that name in the package.
    """
    if name in packaged(kind):
        return read_utf8(FOLDER / kind / f"{name}.toml")
    if not name.endswith(".toml") and not path_of(name).exists():
        what = {"experiments": "experiment", "spaces": "search space"}[kind]
        hint = close(name, packaged(kind))
        raise ConfigError(f"{name}: neither a file nor a packaged {what}{hint}")
    return read_utf8(name)


def recipe_text(name: str) -> str:
    """The TOML of a packaged recipe, or of the recipe file at the path ``name``.

    Raises:
        UnknownNameError: no recipe of that name; the message lists close matches.
        ConfigError: a file that cannot be read.
    """
    if name.endswith(".toml"):
        return read_utf8(name)
    if name not in recipe_names():
        hint = close(name, recipe_names()) or "; see `dglkgmix recipes`"
        raise UnknownNameError(f"unknown recipe {name!r}{hint}")
    return read_utf8(FOLDER / f"{name}.toml")


def read_recipe(name: str) -> Recipe:
    """The recipe called ``name``, or the one in the file at that path.

    Raises:
        UnknownNameError: no recipe of that name.
        ConfigError: a file that cannot be read, unknown keys or values of the wrong type.
    """
    tables = parse(recipe_text(name), name)
    head, where = tables.pop("recipe", {}), f"{name}: [recipe]"
    kinds = {"about": str, "expected": float, "expected_from": str}
    refuse_unknown(head, kinds, where)
    for key in head:
        typed(head, key, kinds[key], where)
    if ("expected" in head) != ("expected_from" in head):
        raise ConfigError(f"{where}: expected and expected_from go together")
    if head.get("expected_from", "paper") not in ("paper", "measured"):
        raise ConfigError(f'{where}: expected_from must be "paper" or "measured"')
    config = merge(Config(), tables, where=name)
    return Recipe(Path(name).name.removesuffix(".toml"), config, **head)


def load_recipe(name: str) -> Config:
    """The settings of a recipe; see :func:`read_recipe`."""
    return read_recipe(name).config


def all_recipes() -> list[Recipe]:
    """Every packaged recipe."""
    return [read_recipe(name) for name in recipe_names()]


@cache
def _paper() -> dict[str, Any]:
    return parse(read_utf8(FOLDER / "paper" / "numbers.toml"), "numbers.toml")


def paper_numbers(data: str, model: str, strategy: str) -> dict[str, float]:
    """What the paper reports for one cell of its tables, empty where it has none.

    Keys are those of an account with dots between levels: ``overall.mrr``, ``bins.low.mrr``,
    ``ece.low``, ``distances.head``. Fractions. ``strategy`` is a strategy's name, or ``swa`` or
    ``augmentation`` for the rows of the paper's ablation.
    """
    return dict(_paper().get(data, {}).get(model, {}).get(strategy, {}))
