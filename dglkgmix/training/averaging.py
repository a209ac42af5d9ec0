"""Stochastic weight averaging (Izmailov et al., 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

from dglkgmix.config import SwaConfig
from dglkgmix.models.encoder import Vectors
from dglkgmix.models.link_predictor import LinkPredictor

ANNEAL_STEPS = 10


class Averaging:
    """The running average of a model's weights and the rate that goes with it.

    Nothing exists before the first average: until then the stage's own decay sets the rate.

    Attributes:
        validated: models that were in it when it was last validated.
    """

    def __init__(
        self, model: LinkPredictor, optimizer: torch.optim.Optimizer, swa: SwaConfig
    ) -> None:
        self._live, self._optimizer, self._swa = model, optimizer, swa
        self._average: AveragedModel | None = None
        self._schedule: SWALR | None = None
        self.validated = 0

    @property
    def count(self) -> int:
        """Models in the average."""
        return int(self._average.n_averaged) if self._average is not None else 0

    @property
    def model(self) -> LinkPredictor:
        """The averaged model; its batch norm is right only after :meth:`refresh`."""
        return cast(LinkPredictor, self._begin()[0].module)

    def is_due(self, epoch: int) -> bool:
        """Whether the weights at the end of ``epoch`` (1-based) enter the average."""
        swa = self._swa
        return bool(swa.enabled) and epoch >= swa.start and epoch % swa.every == 0

    def update(self) -> None:
        """Take the live weights in, and move the rate one step towards ``swa.lr``."""
        average, schedule = self._begin()
        average.update_parameters(self._live)
        schedule.step()

    def refresh(self, batches: Iterable[Tensor]) -> None:
        """Recompute the average's batch-norm statistics over training queries.

        Args:
            batches: (2, B) tensors each, head ids over relation ids, in random order.

        The vectors are those that an evaluation sees. Random state is forked, so that training
        goes on as if nothing had been computed.
        """
        model = self.model.eval()
        device = next(model.parameters()).device
        devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices), torch.no_grad():
            update_bn(batches, _QueryPass(model, model.encode()))
        model.eval()

    def state(self) -> dict[str, Any] | None:
        """Everything to go on from, or None before the first average."""
        if self._average is None or self._schedule is None:
            return None
        return {
            "count": self.count,
            "validated": self.validated,
            "weights": self.model.state_dict(),
            "schedule": {key: self._schedule.state_dict()[key] for key in SCHEDULE_KEYS},
        }

    def load(self, state: dict[str, Any] | None) -> None:
        """Take the values of :meth:`state` back; the optimiser's own must be loaded already."""
        if state is None:
            return
        rates = [group["lr"] for group in self._optimizer.param_groups]
        average, schedule = self._begin()
        self.model.load_state_dict(state["weights"])
        average.n_averaged.fill_(state["count"])
        schedule.load_state_dict(state["schedule"])
        for group, rate in zip(self._optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self.validated = state["validated"]

    def _begin(self) -> tuple[AveragedModel, SWALR]:
        if self._average is None or self._schedule is None:
            self._average = AveragedModel(self._live)
            self._average.requires_grad_(False)
            self._schedule = SWALR(self._optimizer, self._swa.lr, ANNEAL_STEPS, "cos")
        return self._average, self._schedule


# Of a schedule's state; γ and the number of epochs belong to the configuration.
SCHEDULE_KEYS = ("last_epoch", "_step_count", "_last_lr", "base_lrs")


class _QueryPass(nn.Module):
    """Takes a tensor of queries, as ``update_bn`` expects of a model."""

    def __init__(self, model: LinkPredictor, vectors: Vectors) -> None:
        super().__init__()
        self.model = model
        self._vectors = vectors

    def forward(self, queries: Tensor) -> Tensor:
        return self.model.query(self._vectors, queries[0], queries[1])
