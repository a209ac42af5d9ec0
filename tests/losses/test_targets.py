"""Smoothed targets."""

from __future__ import annotations

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.losses.targets import Targets, reduced, softmax_smoothing


class TestTargets:
    def test_five_entities(self) -> None:
        """Case 1: ε = 0.1 over 5 entities."""
        targets = Targets.smoothed(0.1, "auto", 5)
        assert targets.positive == pytest.approx(0.92)
        assert targets.negative == pytest.approx(0.02)

    def test_the_authors_mass(self) -> None:
        targets = Targets.smoothed(0.1, 1.0, 200)
        assert targets.positive == pytest.approx(0.9 + 1 / 200)
        assert targets.negative == pytest.approx(1 / 200)

    @pytest.mark.parametrize("mass", ["auto", 0.0, 1.0, 1e9])
    def test_no_smoothing_whatever_the_mass(self, mass) -> None:
        assert Targets.smoothed(0.0, mass, 5) == Targets(1.0, 0.0)

    @pytest.mark.parametrize(("smoothing", "mass"), [(0.1, 1.0), (0.1, -0.1), (0.5, 2.6)])
    def test_targets_outside_0_to_1_are_refused(self, smoothing: float, mass: float) -> None:
        most = f"0 to {5 * smoothing:g}$"
        with pytest.raises(ConfigError, match=rf"smoothing_mass .* over 5 entities .*{most}"):
            Targets.smoothed(smoothing, mass, 5)

    def test_the_ends_of_what_is_allowed(self) -> None:
        assert Targets.smoothed(1.0, "auto", 5) == Targets(0.2, 0.2)
        assert Targets.smoothed(0.25, 0.0, 5) == Targets(0.75, 0.0)
        assert Targets.smoothed(0.5, 2.5, 5) == Targets(1.0, 0.5)

    @pytest.mark.parametrize("smoothing", [-0.1, 1.1, float("nan")])
    def test_smoothing_is_a_share(self, smoothing: float) -> None:
        for refuse in (Targets.smoothed, lambda e, m, n: softmax_smoothing(e, m)):
            with pytest.raises(ConfigError, match="label_smoothing"):
                refuse(smoothing, "auto", 5)


class TestSoftmaxSmoothing:
    @pytest.mark.parametrize(
        ("smoothing", "mass"), [(0.1, "auto"), (0.1, 0.1), (0.0, 1.0), (1.0, 1.0)]
    )
    def test_its_mass_is_its_smoothing(self, smoothing: float, mass) -> None:
        assert softmax_smoothing(smoothing, mass) == smoothing

    def test_another_mass_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"smoothing_mass is 1\.0"):
            softmax_smoothing(0.1, 1.0)


@pytest.mark.parametrize(
    ("count", "reduction", "expected"), [(4, "sum", 12), (4, "mean", 3), (0, "mean", 12)]
)
def test_reductions(count: int, reduction: str, expected: float) -> None:
    assert float(reduced(torch.tensor(12.0), count, reduction)) == expected
