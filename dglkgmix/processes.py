"""The processes that train together, as one of them sees it.

With one process every part is the whole, and nothing is sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from dglkgmix.errors import NumericError, PeerError
from dglkgmix.sampling.seeds import derive, generator

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """All processes of a training. Those of several call every method below ``reseed`` alike.

    Attributes:
        index: which of the processes this is, from 0; 0 is the main one, which alone writes.
        size: how many there are.
        neighbours: how many of them share this machine.
        store: of ``torch.distributed``, where several have met.

    Raises (all methods below ``reseed``):
        PeerError: another process has ended.
    """

    index: int = 0
    size: int = 1
    neighbours: int = 1
    store: Any = None

    @property
    def main(self) -> bool:
        """Whether this is the process that writes files and messages."""
        return self.index == 0

    def seed(self, seed: int) -> int:
        """``seed`` for one process, another that follows from it in each of several."""
        return seed if self.size == 1 else derive(seed, "process", self.index)

    def share(self, rows: Tensor, seed: int) -> Tensor:
        """This process's part of ``rows`` (N,), dealt out in an order that follows from ``seed``.

        The parts of all are equally long. Together they are ``rows``; where ``size`` does not
        divide N, fewer than ``size`` rows come twice. One process has ``rows`` as they are.
        """
        if self.size == 1:
            return rows
        order = torch.randperm(len(rows), generator=generator(seed, "share"))
        each = math.ceil(len(rows) / self.size)
        return rows[order[torch.arange(self.index, each * self.size, self.size) % len(rows)]]

    def first_to_fail(self) -> bool:
        """Whether no other process has asked this before; yes where the store is gone."""
        try:
            return self.store is None or bool(self.store.add("dglkgmix/failed", 1) == 1)
        except RuntimeError:
            return True

    def reseed(self, seed: int) -> None:
        """Seed PyTorch's global generators in each of several; leave those of one process."""
        if self.size > 1:
            torch.manual_seed(self.seed(seed))

    def add_up(self, *tensors: Tensor) -> None:
        """Replace each tensor by its sum over all processes, the same bits everywhere."""
        if self.size == 1:
            return
        with connections():
            for tensor in tensors:
                total = tensor.contiguous()
                dist.all_reduce(total)
                tensor.copy_(total)

    def gathered(self, value: T) -> list[T]:
        """The values of all processes, by index."""
        values = [value] * self.size
        if self.size > 1:
            with connections():
                dist.all_gather_object(values, value)
        return values

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """The main process goes through the block before the others."""
        if not self.main:
            self.gathered(None)
        yield
        if self.main:
            self.gathered(None)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Raise a NumericError of one process's block in all of them."""
        failure = None
        try:
            yield
        except NumericError as error:
            failure = error
        for found in self.gathered(failure):
            if found is not None:
                raise failure or found


ALONE = Processes()


@contextmanager
def connections() -> Iterator[None]:
    """Raise PyTorch's errors of communication as PeerError."""
    try:
        yield
    except RuntimeError as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PeerError(
            f"another process of this training has ended or cannot be reached ({reason})"
        ) from error
