"""Several seeds of one setting as mean ± standard deviation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def over_seeds(accounts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One tree in place of several alike: every number becomes ``mean``, ``sd`` and ``seeds``.

    ``sd`` is the sample's, None for a single seed. Numbers that are None in any account stay None;
    a text stays where it is that of all.

    Args:
        accounts: of :func:`dglkgmix.evaluation.account.account`, one each seed.
    """
    first = accounts[0]
    return {key: _combine([account[key] for account in accounts]) for key in first}


def _combine(values: list[Any]) -> Any:
    if all(isinstance(value, dict) for value in values):
        return over_seeds(values)
    if all(isinstance(value, str) for value in values):
        return values[0] if len(set(values)) == 1 else None
    if any(value is None or isinstance(value, dict) for value in values):
        return None
    numbers = np.array(values, dtype=np.float64)
    spread = float(numbers.std(ddof=1)) if len(numbers) > 1 else None
    return {"mean": float(numbers.mean()), "sd": spread, "seeds": len(numbers)}
