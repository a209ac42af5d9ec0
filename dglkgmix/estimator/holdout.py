"""Triples held out of a fit, to select the epoch and to calibrate."""

from __future__ import annotations

from dglkgmix.estimator.columns import Array
from dglkgmix.kg.splits import assign_parts

# A seed of its own, never the training's: runs of several seeds must hold out the same triples.
SEED = 0


def hold_out(triples: Array, share: float) -> tuple[Array, Array]:
    """Rows (n,) to train on and to hold out; every name of the latter is among the former.

    Args:
        triples: (n, 3) ids; copies of one stay together.
        share: of the distinct triples; fewer are held out where too few can be spared.
    """
    part = assign_parts(triples, (1 - share, share, 0.0), SEED)
    return part == 0, part == 1
