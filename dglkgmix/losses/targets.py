"""Smoothed targets, and what "sum" and "mean" divide by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from dglkgmix.config.tables import Reduction
from dglkgmix.errors import ConfigError


@dataclass(frozen=True)
class Targets:
    """Targets of binary cross-entropy: (1 - ε) y + m / |V|.

    Attributes:
        positive: the target of a true triple, (1 - ε) + m / |V|.
        negative: the target of any other, m / |V|.
    """

    positive: float = 1.0
    negative: float = 0.0

    @classmethod
    def smoothed(
        cls, smoothing: float, mass: float | Literal["auto"], num_entities: int
    ) -> Targets:
        """Targets for ε = ``smoothing`` and m = ``mass``; "auto" is ε, and ε = 0 smooths nothing.

        Raises:
            ConfigError: ε outside [0, 1], or a mass with which a target would leave [0, 1].
        """
        if not 0 <= smoothing <= 1:
            raise ConfigError(f"training.label_smoothing is {smoothing}: it must be in [0, 1]")
        if smoothing == 0:
            return cls()
        share = (smoothing if mass == "auto" else mass) / num_entities
        if not 0 <= share <= smoothing:
            raise ConfigError(
                f"training.smoothing_mass is {mass}: over {num_entities} entities with label "
                f"smoothing {smoothing} targets would leave [0, 1]; use 'auto', or 0 to "
                f"{smoothing * num_entities:g}"
            )
        return cls(1 - smoothing + share, share)


def softmax_smoothing(smoothing: float, mass: float | Literal["auto"]) -> float:
    """ε for softmax cross-entropy, which spreads exactly ε over the entities (m = ε).

    Raises:
        ConfigError: ε outside [0, 1], or a mass of its own.
    """
    if not 0 <= smoothing <= 1:
        raise ConfigError(f"training.label_smoothing is {smoothing}: it must be in [0, 1]")
    if smoothing > 0 and mass not in ("auto", smoothing):
        raise ConfigError(
            f"training.smoothing_mass is {mass}: softmax cross-entropy (training.loss = 'ce') "
            "has no mass of its own; use 'auto'"
        )
    return smoothing


def reduced(total: Tensor, count: int, reduction: Reduction) -> Tensor:
    """A sum of ``count`` terms, or their mean; 0 terms have the mean 0."""
    return total if reduction == "sum" else total / max(count, 1)


@dataclass(frozen=True, eq=False)
class Positives:
    """Where the true triples of a 1-N batch are: P distinct places in the (B, E) scores.

    Attributes:
        rows: (P,) long, row of the batch.
        tails: (P,) long, entity.
        weights: (P,) float, how much each positive term counts; None for 1.
    """

    rows: Tensor
    tails: Tensor
    weights: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Offsets:
    """Constants added to some of the (B, E) scores, at distinct places.

    Attributes:
        rows, tails: (T,) long.
        values: (T,) float.
    """

    rows: Tensor
    tails: Tensor
    values: Tensor
