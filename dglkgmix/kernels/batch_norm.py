"""BatchNorm1d whose running statistics can be frozen, and averaged over processes.

A pass of a single row is normalised with the running statistics, and a pass of mixed queries
uses its own batch's statistics without entering the running ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.nn import functional

from dglkgmix.processes import Processes


class BatchNorm(nn.BatchNorm1d):
    """Batch norm over the channels of a (B, C) or (B, C, L) input.

    A subclass of PyTorch's, so that ``torch.optim.swa_utils.update_bn`` finds it.

    Attributes:
        frozen: whether the running statistics stay as they are.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.frozen = False

    def uses_batch(self, rows: int) -> bool:
        """Whether a pass of so many rows is normalised with its own statistics."""
        return self.training and rows > 1

    @property
    def remembered(self) -> tuple[Tensor, Tensor]:
        """Copies of the running mean and variance (C,).

        Copies, as a later pass of the same step moves the running ones before this pass's gradient
        is computed.
        """
        return self.running_mean.clone(), self.running_var.clone()

    def observe(self, mean: Tensor, variance: Tensor) -> None:
        """Let a batch's mean and unbiased variance, both (C,), enter the running statistics."""
        factor = self._step()
        self.running_mean.lerp_(mean.detach().to(self.running_mean), factor)
        self.running_var.lerp_(variance.detach().to(self.running_var), factor)

    def _step(self) -> float:
        self.num_batches_tracked.add_(1)
        if self.momentum is None:  # a plain mean over all batches: what update_bn sets
            return 1.0 / float(self.num_batches_tracked)
        return self.momentum

    def forward(self, values: Tensor) -> Tensor:
        """Normalise (B, C) or (B, C, L)."""
        if not self.uses_batch(values.shape[0]):
            return self._normalised(values, *self.remembered)
        if self.frozen:
            return self._normalised(values, None, None)
        return self._normalised(values, self.running_mean, self.running_var, self._step())

    def _normalised(
        self, values: Tensor, mean: Tensor | None, var: Tensor | None, factor: float | None = None
    ) -> Tensor:
        own = mean is None or factor is not None
        affine = (self.weight, self.bias)
        return functional.batch_norm(values, mean, var, *affine, own, factor or 0.0, self.eps)


@contextmanager
def frozen_statistics(module: nn.Module) -> Iterator[None]:
    """Within it, no batch norm in ``module`` changes its running statistics."""
    norms = [part for part in module.modules() if isinstance(part, BatchNorm)]
    before = [norm.frozen for norm in norms]
    for norm in norms:
        norm.frozen = True
    try:
        yield
    finally:
        for norm, frozen in zip(norms, before, strict=True):
            norm.frozen = frozen


def average_statistics(module: nn.Module, processes: Processes) -> None:
    """Replace the running statistics of every batch norm by their means over all processes."""
    for part in module.modules():
        if isinstance(part, BatchNorm):
            processes.add_up(part.running_mean, part.running_var)
            part.running_mean /= processes.size
            part.running_var /= processes.size
