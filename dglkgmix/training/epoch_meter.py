"""Sums of an epoch and the row that they make."""

from __future__ import annotations

import math
import time

import torch
from torch import Tensor

from dglkgmix.errors import NumericError
from dglkgmix.runs.history import Row
from dglkgmix.runs.results import Validation
from dglkgmix.training.batch_loss import LossTerms

ADVICE = "train again with a smaller --lr, or with --set training.clip=1"


class EpochMeter:
    """Counts batches, refuses numbers that are not finite, and gives the epoch's row.

    Args:
        stage, epoch, lr: of the row.
        interval: batches whose figures are read together. A GPU computes ahead of the program,
            and has to stop for every figure that is read.
    """

    def __init__(self, stage: str, epoch: int, lr: float, *, interval: int = 1) -> None:
        self._stage, self._epoch, self._lr, self._interval = stage, epoch, lr, interval
        self._start = time.perf_counter()
        self._waiting: list[Tensor] = []
        self._figures: list[list[float]] = []
        self._positives = self._samples = 0

    def add(self, terms: LossTerms, norm: Tensor) -> None:
        """Take a batch and the 2-norm of its gradient, or of the last that was taken.

        Raises:
            NumericError: a loss or norm that is not finite, naming stage, epoch and batch.
        """
        figures = (terms.loss.detach(), terms.kg_loss, terms.synthetic_loss, norm.to(terms.loss))
        self._waiting.append(torch.stack(figures).double())
        self._positives += terms.positives
        self._samples += terms.synthetic_samples
        if len(self._waiting) == self._interval:
            self.finish()

    def row(self, *, valid: Validation | None, averaged: int) -> Row:
        """The epoch as a row of the history; its seconds end here."""
        self.finish()
        loss, kg_loss, synthetic_loss, norms = zip(*self._figures, strict=True)
        count = len(self._figures)
        return Row(
            stage=self._stage,
            epoch=self._epoch,
            loss=sum(loss) / count,
            kg_loss=sum(kg_loss) / count,
            synthetic_loss=sum(synthetic_loss) / count,
            synthetic_samples=self._samples,
            positives=self._positives,
            batches=count,
            lr=self._lr,
            gradient_norm=sum(norms) / count,
            gradient_norm_max=max(norms),
            seconds=time.perf_counter() - self._start,
            valid_mrr=None if valid is None else valid.mrr,
            averaged=averaged,
            valid_goal=None if valid is None else valid.goal,
        )

    def finish(self) -> None:
        """Read what still waits, before anything is made of the epoch's weights."""
        if not self._waiting:
            return
        for figures in torch.stack(self._waiting).tolist():
            self._figures.append(figures)
            for what, value in (("loss", figures[0]), ("gradient norm", figures[3])):
                if not math.isfinite(value):
                    raise NumericError(
                        f"the {what} is {value} in epoch {self._epoch}, batch "
                        f"{len(self._figures)} of stage {self._stage!r}: {ADVICE}"
                    )
        self._waiting = []
