"""What the paper reports, to stand beside what was measured here; never in its place."""

from __future__ import annotations

from functools import cache
from typing import Any

from dglkgmix.experiments import toml_files
from dglkgmix.experiments.recipes import FOLDER
from dglkgmix.paths import read_utf8


def paper_numbers(data: str, model: str, strategy: str) -> dict[str, float]:
    """The paper's figures for one cell of its tables, empty where it has none.

    Keys are those of an account with dots between levels: ``overall.mrr``, ``bins.low.mrr``,
    ``ece.low``, ``distances.head``. Fractions. ``strategy`` is a strategy's name, or ``swa`` or
    ``augmentation`` for the rows of the paper's ablation.
    """
    found: dict[str, float] = _numbers().get(data, {}).get(model, {}).get(strategy, {})
    return dict(found)


@cache
def _numbers() -> dict[str, Any]:
    path = FOLDER / "paper" / "numbers.toml"
    return toml_files.parse(read_utf8(path), path.name)
