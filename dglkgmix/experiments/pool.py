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
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

from dglkgmix.allocator import keep_freed_memory
from dglkgmix.errors import DglkgmixError

Run = Callable[[str], None]


class Outcome(NamedTuple):
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
    # Forked processes would inherit locks of PyTorch's and DGL's threads.
    context = multiprocessing.get_context("spawn")
    waiting = list(needs)
    succeeded: set[str | None] = {None}
    running: dict[Any, tuple[str, SpawnProcess]] = {}
    try:
        while waiting or running:
            ended: list[Outcome] = []
            ready = [name for name in waiting if needs[name] in succeeded]
            for name in ready[: max(1, jobs) - len(running)]:
                waiting.remove(name)
                started(name)
                if jobs <= 1:
                    ended.append(Outcome(name, *_attempt(run, name)))
                    continue
                # In a process of its own: what a task does to memory or dies of stays with it.
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_serve, args=(theirs, run, name), daemon=True)
                process.start()
                theirs.close()
                running[ours] = (name, process)
            finished = wait(list(running)) if running else ()
            ended += [_collect(pipe, *running.pop(pipe)) for pipe in finished]
            for outcome in ended:  # It grows by the tasks that a failure leaves without hope.
                yield outcome
                if outcome.error is None:
                    succeeded.add(outcome.name)
                    continue
                for name in [n for n in waiting if needs[n] == outcome.name]:
                    waiting.remove(name)
                    reason = f"it needs {outcome.name}, which failed: {outcome.error}"
                    ended.append(Outcome(name, reason))
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()


def _attempt(run: Run, name: str) -> tuple[str | None, str]:
    """What went wrong, in a line and in full."""
    try:
        run(name)
    except DglkgmixError as error:
        return str(error), traceback.format_exc()
    except Exception as error:  # One task must not take the others with it.
        return f"{type(error).__name__}: {error}", traceback.format_exc()
    return None, ""


def _serve(connection: Connection[Any, Any], run: Run, name: str) -> None:
    """Do a task and tell how it ended; end at once when the parent does."""
    keep_freed_memory()
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(OSError, KeyboardInterrupt):
        connection.send_bytes(json.dumps(_attempt(run, name)).encode())


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
