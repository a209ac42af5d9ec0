"""Sums of an epoch and the row that they make."""

from __future__ import annotations

import math
import time

from torch import Tensor

from dglkgmix.errors import NumericError
from dglkgmix.training.batch_loss import LossTerms
from dglkgmix.training.history import Row


class EpochMeter:
    """Counts batches, refuses numbers that are not finite, and gives the epoch's row."""

    def __init__(self, stage: str, epoch: int, lr: float) -> None:
        self._stage, self._epoch, self._lr = stage, epoch, lr
        self._start = time.perf_counter()
        self._loss = self._kg_loss = self._synthetic_loss = 0.0
        self._norm = self._largest = 0.0
        self._positives = self._samples = self.batches = 0

    def check_loss(self, loss: Tensor) -> None:
        """Raise NumericError, naming stage, epoch and batch, where the loss is not finite."""
        self._check(float(loss.detach()), "loss")

    def add(self, terms: LossTerms, norm: Tensor) -> None:
        """Take a batch and the 2-norm of its gradient, which must be finite as well."""
        self._check(float(norm), "gradient norm")
        self.batches += 1
        self._loss += float(terms.loss.detach())
        self._kg_loss += float(terms.kg_loss)
        self._synthetic_loss += float(terms.synthetic_loss)
        self._norm += float(norm)
        self._largest = max(self._largest, float(norm))
        self._positives += terms.positives
        self._samples += terms.synthetic_samples

    def row(self, *, valid_mrr: float | None, averaged: int) -> Row:
        """The epoch as a row of the history; its seconds end here."""
        count = max(self.batches, 1)
        return Row(
            stage=self._stage,
            epoch=self._epoch,
            loss=self._loss / count,
            kg_loss=self._kg_loss / count,
            synthetic_loss=self._synthetic_loss / count,
            synthetic_samples=self._samples,
            positives=self._positives,
            batches=self.batches,
            lr=self._lr,
            gradient_norm=self._norm / count,
            gradient_norm_max=self._largest,
            seconds=time.perf_counter() - self._start,
            valid_mrr=valid_mrr,
            averaged=averaged,
        )

    def _check(self, value: float, what: str) -> None:
        if not math.isfinite(value):
            raise NumericError(
                f"the {what} is {value} in epoch {self._epoch}, batch {self.batches + 1} of stage "
                f"{self._stage!r}: train again with a smaller --lr, or with --set training.clip=1"
            )
