"""The processes that train together, as one of them sees it.

Code asks a :class:`World` for its part of the work and for sums over all processes. With one
process there is nothing to ask: every part is the whole, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from dglkgmix.errors import NumericError, PeerError
from dglkgmix.sampling.seeds import derive

T = TypeVar("T")
# Tensors of fewer numbers travel together: 1 MiB of float32. Larger ones are summed where they lie.
BUCKETED = 2**18


class World:
    """One process alone.

    Attributes:
        index: which of the processes this is, from 0; 0 is the main one, which alone writes.
        size: how many there are.
        neighbours: how many of them share this machine.
        attempt: how often they have been started anew.
    """

    def __init__(
        self, index: int = 0, size: int = 1, *, neighbours: int = 1, attempt: int = 0
    ) -> None:
        self.index, self.size, self.neighbours, self.attempt = index, size, neighbours, attempt

    @property
    def main(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.index == 0

    def part(self, count: int) -> slice:
        """This process's stretch of ``count`` rows; parts differ by one row at most."""
        return slice(count * self.index // self.size, count * (self.index + 1) // self.size)

    def deal(self, items: Iterable[T]) -> Iterator[T]:
        """Every ``size``-th item, from the ``index``-th on."""
        return islice(items, self.index, None, self.size)

    def reseed(self, seed: int) -> None:
        """Let PyTorch's global generators go on from ``seed``, elsewhere in each of several
        processes; a single process's run on as they are.
        """

    def add_up(self, *tensors: Tensor) -> None:
        """Replace each tensor by its sum over all processes, the same in each of them."""

    def agreed(self, value: float) -> float:
        """The main process's ``value``."""
        return value

    def smallest(self, value: int) -> int:
        """The smallest of all processes' values."""
        return value

    def wait(self) -> None:
        """Until all processes have come here."""

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """The main process goes through the block before the others."""
        yield

    @contextmanager
    def together(self) -> Iterator[None]:
        """A number that is not finite in one process's block is an error in all of them."""
        yield

    def claims(self) -> bool:
        """Whether this process is the first to ask: it may say what has gone wrong."""
        return True

    def __deepcopy__(self, memo: dict[int, object]) -> World:
        return self


ALONE = World()


class Counter(Protocol):
    """What is asked of a store of ``torch.distributed``."""

    def add(self, key: str, amount: int) -> int:
        """Add to a number that all processes see; what it is then."""
        ...


class Processes(World):
    """Several processes that ``torch.distributed`` has brought together.

    All methods but ``part``, ``deal``, ``reseed`` and ``claims`` are to be called by all of them
    in the same order.

    Raises (all of these):
        PeerError: another process is gone.
    """

    def __init__(
        self, store: Counter, index: int, size: int, *, neighbours: int, attempt: int = 0
    ) -> None:
        super().__init__(index, size, neighbours=neighbours, attempt=attempt)
        self._store = store

    def reseed(self, seed: int) -> None:
        """Derive the generators of this process."""
        torch.manual_seed(derive(seed, "process", self.index))

    def add_up(self, *tensors: Tensor) -> None:
        """Large tensors one by one, where they lie; small ones of a kind in one go."""
        small: dict[Any, list[Tensor]] = {}
        with connections():
            works = []
            for tensor in tensors:
                if tensor.numel() < BUCKETED or not tensor.is_contiguous():
                    small.setdefault((tensor.dtype, tensor.device), []).append(tensor)
                else:
                    works.append(dist.all_reduce(tensor, async_op=True))
            for bucket in small.values():
                _add_up_together(bucket)
            for work in works:
                work.wait()

    def agreed(self, value: float) -> float:
        """Sent as float64."""
        box = torch.tensor([value], dtype=torch.float64)
        with connections():
            dist.broadcast(box, 0)
        return float(box)

    def smallest(self, value: int) -> int:
        """Compared as int64."""
        box = torch.tensor([value])
        with connections():
            dist.all_reduce(box, dist.ReduceOp.MIN)
        return int(box)

    def wait(self) -> None:
        """A sum of nothing."""
        self.add_up(torch.zeros(1))

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """The others wait for the main process to come out."""
        if not self.main:
            self.wait()
        yield
        if self.main:
            self.wait()

    @contextmanager
    def together(self) -> Iterator[None]:
        """The first process in trouble says in all what its trouble is."""
        trouble = ""
        try:
            yield
        except NumericError as error:
            trouble = str(error)
        first = self.smallest(self.index if trouble else self.size)
        if first < self.size:
            raise NumericError(self._text(trouble, first))

    def _text(self, text: str, source: int) -> str:
        """What process ``source`` says, in all processes."""
        data = text.encode()
        size = torch.tensor([len(data)])
        with connections():
            dist.broadcast(size, source)
            box = torch.zeros(int(size), dtype=torch.uint8)
            if self.index == source:
                box = torch.tensor(list(data), dtype=torch.uint8)
            dist.broadcast(box, source)
        return bytes(box.tolist()).decode()

    def claims(self) -> bool:
        """Asks the store that the processes met at; yes where that is gone."""
        try:
            return bool(self._store.add("dglkgmix/trouble", 1) == 1)
        except RuntimeError:
            return True


def _add_up_together(tensors: list[Tensor]) -> None:
    box = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.all_reduce(box)
    parts = torch.split(box, [tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


@contextmanager
def connections() -> Iterator[None]:
    """PyTorch's errors of communication as ours.

    Raises:
        PeerError: for any RuntimeError in the block.
    """
    try:
        yield
    except RuntimeError as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise PeerError(
            f"another process of this training has ended or cannot be reached ({reason})"
        ) from error
