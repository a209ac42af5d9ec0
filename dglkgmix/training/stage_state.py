"""Everything of a running stage that changes: weights, optimiser, average, patience, best epoch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dglkgmix.errors import CheckpointError
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.runs.checkpoint import copy_weights, load_weights
from dglkgmix.runs.results import Selection, Validation, Weights
from dglkgmix.training.averaging import SCHEDULE_KEYS, Averaging
from dglkgmix.training.optimizer import build_optimizer, build_schedule
from dglkgmix.training.stages import Stage


class StageState:
    """The moving parts of one stage, and their exact state.

    Attributes:
        epoch: epochs done.
        best: weights of the best validated epoch, or None before the first validation.
    """

    def __init__(self, stage: Stage, model: LinkPredictor) -> None:
        self.stage, self.model = stage, model
        self.optimizer = build_optimizer(model, stage.training)
        self._schedule = build_schedule(self.optimizer, stage.training)
        self.averaging = Averaging(model, self.optimizer, stage.swa)
        self.stopping = EarlyStopping(stage.training.patience)
        self.epoch = 0
        self.validated = 0
        self.best: Weights | None = None

    @property
    def lr(self) -> float:
        """The rate of the next step."""
        return float(self.optimizer.param_groups[0]["lr"])

    @property
    def over(self) -> bool:
        """Whether all epochs are done or patience has run out."""
        return self.epoch >= self.stage.training.epochs or self.stopping.exhausted

    @property
    def candidate(self) -> LinkPredictor:
        """The model that is validated, selected and saved: the average once there is one."""
        return self.averaging.model if self.averaging.count else self.model

    def end_epoch(self) -> None:
        """Count the epoch; average, or change the rate while nothing has been averaged."""
        self.epoch += 1
        if self.averaging.is_due(self.epoch):
            first = not self.averaging.count
            self.averaging.update()
            if first:
                # What came before averaging no longer competes: the average is the result.
                self.stopping.restart()
                self.best = None
        elif not self.averaging.count and self.stage.training.schedule != "plateau":
            self._schedule.step()

    @property
    def has_news(self) -> bool:
        """Whether the candidate has changed since it was last validated."""
        if self.averaging.count:
            return self.averaging.count > self.averaging.validated
        return self.epoch > self.validated

    def record(self, goal: float) -> None:
        """Take the validation of the current candidate; on a plateau, lower the rate."""
        training = self.stage.training
        self.validated = self.epoch
        self.averaging.validated = self.averaging.count
        if self.stopping.update(self.epoch, goal):
            self.best = copy_weights(self.candidate, self.best)
        elif (
            training.schedule == "plateau"
            and not self.averaging.count
            and self.stopping.count % training.lr_patience == 0
        ):
            self._schedule.step()

    def select(self, late: Validation | None) -> Selection:
        """The stage's result, without changing the state.

        Args:
            late: of the current candidate where ``validate_every`` left it out.
        """
        best = self.stopping.best
        if best is None or self.best is None or (late is not None and late.goal > best):
            return Selection(
                copy_weights(self.candidate), self.epoch, late.goal if late else None, late
            )
        return Selection(self.best, self.stopping.best_epoch, best, late)

    def state(self) -> dict[str, Any]:
        """Everything to go on from to the same bits."""
        return {
            "stage": self.stage.name,
            "epoch": self.epoch,
            "validated": self.validated,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "decay": {key: self._schedule.state_dict()[key] for key in SCHEDULE_KEYS},
            "averaging": self.averaging.state(),
            "stopping": self.stopping.state(),
            "best": self.best,
        }

    def load(self, state: dict[str, Any], where: str) -> None:
        """Take the values of :meth:`state` back.

        Raises:
            CheckpointError: a state of another model, or one that lacks something.
        """
        try:
            self.epoch, self.validated = state["epoch"], state["validated"]
            load_weights(self.model, state["model"], where)
            self.optimizer.load_state_dict(state["optimizer"])
            self._schedule.load_state_dict(state["decay"])
            self.averaging.load(state["averaging"])
            self.stopping.load(state["stopping"])
            self.best = state["best"]
        except CheckpointError:
            raise
        except (KeyError, ValueError, TypeError) as error:
            raise CheckpointError(f"{where}: not the state of this training: {error!r}") from None


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
