"""Recipes: settings by name, with what each of them should reach.

A recipe is a configuration file with one more table, ``[recipe]``: ``about``, and where a figure
exists ``expected`` (test MRR, filtered, both directions) with ``expected_from``, ``"paper"`` or
``"measured"``. The packaged ones are named ``<data>-<model>-<strategy>``; a path to a file, as
``dglkgmix tune`` writes one, does wherever a name does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dglkgmix.config import Config
from dglkgmix.config.toml import merge
from dglkgmix.errors import ConfigError, UnknownNameError
from dglkgmix.experiments import toml_files
from dglkgmix.paths import read_utf8

FOLDER = Path(__file__).resolve().parents[1] / "recipes"
_KEYS = ("about", "expected", "expected_from")


@dataclass(frozen=True)
class Recipe:
    """Settings with a name, and the test MRR that they should reach (``None``: not measured)."""

    name: str
    about: str
    expected: float | None
    expected_from: str | None
    config: Config

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
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def recipe_text(name: str) -> str:
    """The TOML of a packaged recipe, or of the recipe file at the path ``name``.

    Raises:
        UnknownNameError: no recipe of that name; the message lists close matches.
        ConfigError: a file that cannot be read.
    """
    if name.endswith(".toml"):
        return read_utf8(name)
    if name not in recipe_names():
        close = toml_files.close(name, recipe_names()) or "; see `dglkgmix recipes`"
        raise UnknownNameError(f"unknown recipe {name!r}{close}")
    return read_utf8(FOLDER / f"{name}.toml")


def read_recipe(name: str) -> Recipe:
    """The recipe called ``name``, or the one in the file at that path.

    Raises:
        UnknownNameError: no recipe of that name.
        ConfigError: a file that cannot be read, unknown keys or values of the wrong type.
    """
    tables = toml_files.parse(recipe_text(name), name)
    head = tables.pop("recipe", {})
    toml_files.refuse_unknown(head, _KEYS, f"{name}: [recipe]")
    config = merge(Config(), tables, where=name)
    return Recipe(Path(name).name.removesuffix(".toml"), config=config, **_head(head, name))


def load_recipe(name: str) -> Config:
    """The settings of a recipe; see :func:`read_recipe`."""
    return read_recipe(name).config


def all_recipes() -> list[Recipe]:
    """Every packaged recipe."""
    return [read_recipe(name) for name in recipe_names()]


def _head(head: dict[str, Any], name: str) -> dict[str, Any]:
    where = f"{name}: [recipe]"
    kinds: dict[str, type | tuple[type, ...]] = {
        "about": str,
        "expected": float,
        "expected_from": str,
    }
    values = {key: toml_files.typed(head, key, kinds[key], where) for key in _KEYS if key in head}
    if ("expected" in head) != ("expected_from" in head):
        raise ConfigError(f"{where}: expected and expected_from go together")
    if values.get("expected_from", "paper") not in ("paper", "measured"):
        raise ConfigError(f'{where}: expected_from must be "paper" or "measured"')
    return {"about": "", "expected": None, "expected_from": None} | values
