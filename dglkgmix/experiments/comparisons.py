"""Which further settings of an experiment are tested against which (``[[comparisons]]``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dglkgmix.errors import ConfigError
from dglkgmix.experiments import toml_files

Axes = Mapping[str, Any]


@dataclass(frozen=True)
class Comparison:
    """Settings with the values of ``of`` are tested against those with ``against`` in their place.

    Both map the same axes to one value each; all other axes are alike on both sides.
    """

    of: Axes
    against: Axes

    def partner(self, axes: Axes) -> dict[str, Any] | None:
        """The axes of what a setting is tested against; None where it is not meant."""
        meant = all(axes[axis] == value for axis, value in self.of.items())
        return {**axes, **self.against} if meant else None


def parse_comparison(table: Any, axes: Mapping[str, Sequence[Any]], where: str) -> Comparison:
    """Check one ``[[comparisons]]`` table.

    Raises:
        ConfigError: no ``of`` and ``against`` with the same axes and other values of the grid.
    """
    if not isinstance(table, dict) or set(table) != {"of", "against"}:
        raise ConfigError(f"{where}: must be a table with of and against")
    sides = {side: _side(table, side, axes, where) for side in ("of", "against")}
    of, against = sides["of"], sides["against"]
    if set(of) != set(against) or not of:
        raise ConfigError(f"{where}: of and against must name the same axes, at least one")
    if of == against:
        raise ConfigError(f"{where}: of and against are the same")
    return Comparison(of, against)


def _side(
    table: dict[str, Any], side: str, axes: Mapping[str, Sequence[Any]], where: str
) -> dict[str, Any]:
    given = toml_files.dotted(toml_files.typed(table, side, dict, where))
    toml_files.refuse_unknown(given, axes, f"{where}: {side}")
    return {
        axis: _own(axis, value, axes[axis], f"{where}: {side}") for axis, value in given.items()
    }


def _own(axis: str, value: Any, values: Sequence[Any], where: str) -> Any:
    """The axis' own value that equals ``value``: 1 is 1.0, but not true."""
    for own in values:
        if own == value and isinstance(own, bool) == isinstance(value, bool):
            return own
    close = toml_files.close(value, values) if isinstance(value, str) else ""
    raise ConfigError(f"{where}: no cell has {axis} {value!r}{close}")
