"""Held-out triples."""

from __future__ import annotations

import numpy as np

from dglkgmix.estimator.holdout import hold_out


def _ring(count: int) -> np.ndarray:  # type: ignore[type-arg]
    steps = np.arange(count)
    one = np.stack([steps, np.zeros_like(steps), (steps + 1) % count], 1)
    two = np.stack([steps, np.ones_like(steps), (steps + 2) % count], 1)
    return np.concatenate([one, two])


def test_every_held_out_name_stays_in_training() -> None:
    triples = _ring(50)
    kept, held = hold_out(triples, 0.2)
    assert held.sum() == 20
    assert (kept ^ held).all()
    assert set(triples[held][:, [0, 2]].ravel()) <= set(triples[kept][:, [0, 2]].ravel())


def test_copies_stay_together_and_nothing_is_held_out_at_zero() -> None:
    triples = np.concatenate([_ring(30), _ring(30)])
    kept, _ = hold_out(triples, 0.3)
    assert (kept[:60] == kept[60:]).all()
    assert hold_out(triples, 0.0)[0].all()


def test_mirrors_are_held_out_together() -> None:
    ring = _ring(30)
    kept, held = hold_out(np.concatenate([ring, ring[:, ::-1]]), 0.3)
    assert (kept[:60] == kept[60:]).all()
    assert held.sum() == 36
