"""When to stop, and which epoch is the best so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class EarlyStopping:
    """The best validation and how many have passed since.

    Attributes:
        patience: validations without a new best that end a training; 0 never does.
        best: the highest value of what ``training.select`` names; None before the first validation.
        best_epoch: its epoch, 1-based; 0 before the first validation.
        count: validations since the best.
    """

    patience: int
    best: float | None = None
    best_epoch: int = 0
    count: int = 0

    def update(self, epoch: int, value: float) -> bool:
        """Take one validation; whether it is the best so far. A tie is no improvement."""
        if self.best is not None and value <= self.best:
            self.count += 1
            return False
        self.best, self.best_epoch, self.count = value, epoch, 0
        return True

    @property
    def exhausted(self) -> bool:
        """Whether training should end."""
        return 0 < self.patience <= self.count

    def restart(self) -> None:
        """Forget the best: what comes from now on competes only with its like (SWA)."""
        self.best, self.best_epoch, self.count = None, 0, 0

    def state(self) -> dict[str, Any]:
        """Plain values for a state file; patience belongs to the configuration."""
        values = asdict(self)
        del values["patience"]
        return values

    def load(self, state: dict[str, Any]) -> None:
        """Take the values of :meth:`state` back."""
        self.best, self.best_epoch = state["best"], state["best_epoch"]
        self.count = state["count"]
