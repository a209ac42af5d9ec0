"""Sides of a comparison in processes of their own, which take turns.

A side keeps its models, memory and allocator settings to itself, and only one of them computes at
any time: what slows the machine down for a while slows both.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

# What a turn does: so many units of work (batches, queries …). It may return notes for the JSON.
Work = Callable[[int], "dict[str, Any] | None"]
Factory = Callable[[Any], Work]


@dataclass
class Timing:
    """Seconds of equal turns."""

    units: int
    seconds: list[float] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """Seconds of one unit."""
        return statistics.median(self.seconds) / self.units

    def report(self) -> dict[str, Any]:
        """As it stands in the JSON."""
        return {
            "seconds_each": self.median,
            "units": self.units,
            "repeats": len(self.seconds),
            "turns": [round(value, 4) for value in self.seconds],
            **self.notes,
        }


class Side:
    """A process that makes work of cases by ``factory``, a function of a module."""

    def __init__(self, factory: Factory) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, factory), daemon=True)
        self._process.start()
        theirs.close()

    def turn(self, case: Hashable, units: int) -> tuple[float, dict[str, Any]]:
        """Seconds that ``units`` of a case took, and what the work noted."""
        self._connection.send((case, units))
        try:
            answer = self._connection.recv()
        except EOFError:
            raise RuntimeError(f"the process of {case} is gone: was memory short?") from None
        if isinstance(answer, str):
            raise RuntimeError(f"{case}: {answer}")
        return answer

    def close(self) -> None:
        self._connection.close()
        self._process.join()


@contextmanager
def sides(*factories: Factory) -> Iterator[list[Side]]:
    """Processes that end with the block."""
    started = [Side(factory) for factory in factories]
    try:
        yield started
    finally:
        for side in started:
            side.close()


def interleaved(
    players: Sequence[tuple[Side, Hashable, int]], repeats: int, warm_up: int = 2
) -> list[Timing]:
    """Timings of (side, case, units of a turn), turn about, after ``warm_up`` units each."""
    for side, case, _ in players:
        side.turn(case, warm_up)
    timings = [Timing(units) for _, _, units in players]
    for _ in range(repeats):
        for timing, (side, case, units) in zip(timings, players, strict=True):
            seconds, notes = side.turn(case, units)
            timing.seconds.append(seconds)
            timing.notes.update(notes)
    return timings


def peak_gib() -> float:
    """The largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _serve(connection: Connection, factory: Factory) -> None:
    works: dict[Hashable, Work] = {}
    while True:
        try:
            case, units = connection.recv()
        except EOFError:
            return
        try:
            if case not in works:
                works.clear()  # one case at a time, so that memory is its own
                works[case] = factory(case)
            started = time.perf_counter()
            notes = works[case](units) or {}
            connection.send((time.perf_counter() - started, notes))
        except Exception as error:
            connection.send(f"{type(error).__name__}: {error}")
