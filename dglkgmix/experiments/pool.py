"""Tasks that may need one another, run here or by a few worker processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from dglkgmix.allocator import keep_freed_memory
from dglkgmix.errors import DglkgmixError

Run = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """How a task ended: ``error`` says what went wrong, ``details`` where in the code."""

    name: str
    error: str | None = None
    details: str = ""


def run_tasks(
    needs: Mapping[str, str | None],
    run: Run,
    *,
    jobs: int = 1,
    started: Callable[[str], None] = lambda name: None,
) -> Iterator[Outcome]:
    """Run every task once; a failure ends its own task and those that need it, no others.

    Args:
        needs: task → the task that must have succeeded before it, which stands earlier.
        run: does one task by name; with several jobs it goes to other processes.
        jobs: how many at once; 1 runs in this process.
        started: called when a task begins.

    An interrupt (Ctrl-C) ends the workers and is passed on.
    """
    queue = _Queue(needs)
    yield from _here(queue, run, started) if jobs <= 1 else _elsewhere(queue, run, jobs, started)


class _Queue:
    """Which task may start next."""

    def __init__(self, needs: Mapping[str, str | None]) -> None:
        self._needs = dict(needs)
        self._waiting = list(needs)
        self._ended: dict[str, str | None] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def next(self) -> str | None:
        """A task whose need is met, taken out of the queue; None while all must wait."""
        for name in self._waiting:
            need = self._needs[name]
            if need is None or self._ended.get(need, "") is None:
                self._waiting.remove(name)
                return name
        return None

    def end(self, outcome: Outcome) -> Iterator[Outcome]:
        """Note an outcome; gives it back with those of the tasks that it leaves without hope."""
        self._ended[outcome.name] = outcome.error
        yield outcome
        if outcome.error is not None:
            for name in [n for n in self._waiting if self._needs[n] == outcome.name]:
                self._waiting.remove(name)
                reason = f"it needs {outcome.name}, which failed: {outcome.error}"
                yield from self.end(Outcome(name, reason))


def _here(queue: _Queue, run: Run, started: Callable[[str], None]) -> Iterator[Outcome]:
    while (name := queue.next()) is not None:
        started(name)
        yield from queue.end(Outcome(name, *_attempt(run, name)))


def _attempt(run: Run, name: str) -> tuple[str | None, str]:
    """What went wrong, in a line and in full."""
    try:
        run(name)
    except DglkgmixError as error:
        return str(error), traceback.format_exc()
    except Exception as error:  # One task must not take the others with it.
        return f"{type(error).__name__}: {error}", traceback.format_exc()
    return None, ""


def _elsewhere(
    queue: _Queue, run: Run, jobs: int, started: Callable[[str], None]
) -> Iterator[Outcome]:
    workers: list[_Worker] = []
    try:
        while queue or any(worker.task for worker in workers):
            _hand_out(queue, run, jobs, workers, started)
            busy = {worker.connection: worker for worker in workers if worker.task}
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                outcome = worker.collect()
                if not worker.alive:
                    workers.remove(worker)
                yield from queue.end(outcome)
    finally:
        for worker in workers:
            worker.stop()


def _hand_out(
    queue: _Queue,
    run: Run,
    jobs: int,
    workers: list[_Worker],
    started: Callable[[str], None],
) -> None:
    while sum(worker.task is not None for worker in workers) < jobs:
        name = queue.next()
        if name is None:
            return
        idle = next((worker for worker in workers if worker.task is None), None)
        if idle is None:
            idle = _Worker(run)
            workers.append(idle)
        started(name)
        idle.give(name)


class _Worker:
    """A process of its own: what it does to memory or dies of stays with it."""

    def __init__(self, run: Run) -> None:
        # Forked processes would inherit locks of PyTorch's and DGL's threads.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, run), daemon=True)
        self._process.start()
        theirs.close()
        self.task: str | None = None
        self.alive = True

    def give(self, name: str) -> None:
        self.task = name
        self.connection.send_bytes(name.encode())

    def collect(self) -> Outcome:
        name, self.task = self.task or "", None
        try:
            error, details = self.connection.recv_bytes(), self.connection.recv_bytes()
        except (EOFError, OSError):
            self.alive = False
            self._process.join()
            code = self._process.exitcode
            return Outcome(name, f"its process ended with status {code}{_killed(code)}")
        return Outcome(name, error.decode() or None, details.decode())

    def stop(self) -> None:
        self.connection.close()
        self._process.terminate()
        self._process.join()


def _killed(code: int | None) -> str:
    return " (killed; was memory short?)" if code == -9 else ""


def _serve(connection: Connection[Any, Any], run: Run) -> None:
    """Do tasks until the other end closes; end at once when the parent does."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        while True:
            name = connection.recv_bytes().decode()
            error, details = _attempt(run, name)
            connection.send_bytes((error or "").encode())
            connection.send_bytes(details.encode())
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
