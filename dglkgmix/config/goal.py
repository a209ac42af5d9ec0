"""``training.select``: what early stopping and the choice of the best epoch follow."""

from __future__ import annotations

import math

from dglkgmix.errors import ConfigError

MRR = "mrr"
# All queries, and the bins of degree that they fall into by default.
GOALS = (MRR, "zero", "low", "medium", "high")


def goal_parts(select: str) -> dict[str, float]:
    """Part → weight, adding up to 1, of ``training.select``: ``"low"``, ``"zero=0.5,low=0.5"``.

    A part is ``mrr``, which is all queries, or the name of a degree bin.

    Raises:
        ConfigError: a part that is unknown or given twice, or a weight that is not above 0.
    """
    parts: dict[str, float] = {}
    for text in select.split(","):
        name, given, weight = (piece.strip() for piece in text.partition("="))
        if name not in GOALS or name in parts:
            fault = "given twice" if name in parts else "unknown"
            raise ConfigError(
                f"training.select {select!r}: {name!r} is {fault}: take one of "
                f"{', '.join(GOALS)}, or weights of several, as in zero=0.5,low=0.5"
            )
        try:
            parts[name] = float(weight) if given else 1.0
        except ValueError:
            parts[name] = math.nan
        if not 0 < parts[name] < math.inf:
            raise ConfigError(
                f"training.select {select!r}: the weight of {name} must be a number above 0"
            )
    total = sum(parts.values())
    return {name: weight / total for name, weight in parts.items()}
