"""Tasks that may need one another, run here or in a few processes at a time."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
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
    """Each task in a process of its own: what it does to memory or dies of stays with it."""
    # Forked processes would inherit locks of PyTorch's and DGL's threads.
    context = multiprocessing.get_context("spawn")
    running: dict[Any, tuple[str, SpawnProcess]] = {}
    try:
        while queue or running:
            while len(running) < jobs and (name := queue.next()) is not None:
                started(name)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_serve, args=(theirs, run, name), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (name, process)
            for connection in wait(list(running)):
                name, process = running.pop(connection)
                yield from queue.end(_collect(connection, name, process))
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def _collect(connection: Any, name: str, process: SpawnProcess) -> Outcome:
    try:
        outcome = Outcome(name, *json.loads(connection.recv_bytes()))
    except EOFError:
        outcome = None
    connection.close()
    process.join()
    if outcome is not None:
        return outcome
    hint = " (killed; was memory short?)" if process.exitcode == -signal.SIGKILL else ""
    return Outcome(name, f"its process ended with status {process.exitcode}{hint}")


def _serve(connection: Connection[Any, Any], run: Run, name: str) -> None:
    """Do a task and tell how it ended; end at once when the parent does."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with suppress(OSError, KeyboardInterrupt):
        connection.send_bytes(json.dumps(_attempt(run, name)).encode())


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
