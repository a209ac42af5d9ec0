"""Focal loss: its options; losses and kernels have the terms."""

from __future__ import annotations

from dglkgmix.losses.pointwise import Focus


def test_the_options_reach_the_factor(make) -> None:
    assert make("focal").focus == Focus(2.0, detach=False)
    assert make("focal", gamma=1.0, focal_detach=True).focus == Focus(1.0, detach=True)
