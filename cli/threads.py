"""OpenMP's threads beside other processes: set before PyTorch loads, as OpenMP reads it once."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

# Of libgomp, which PyTorch's wheels bring, and of the OpenMP of other compilers.
_WAITING = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
# Turns of a waiting thread's loop before it sleeps. libgomp's own 300,000 keep a core for a
# millisecond; another process there then holds up the very thread that is waited for.
_SPINS = "30000"
_THREADS = "OMP_NUM_THREADS"
_SAMPLES, _APART = 10, 0.002


def wait_asleep() -> None:
    """Threads that wait for each other leave their core soon, unless the user's variables say."""
    if not any(name in os.environ for name in _WAITING):
        os.environ["GOMP_SPINCOUNT"] = _SPINS


def use_free_cores(load: Path = Path("/proc/loadavg")) -> None:
    """Fewer threads where other processes compute, told in a line on standard error.

    Nothing is changed where OMP_NUM_THREADS is set or PyTorch has loaded. ``load`` is where Linux
    tells how many threads run or wait for a core, this one among them.
    """
    if _THREADS in os.environ or "torch" in sys.modules:
        return
    cores = len(os.sched_getaffinity(0))
    busy = _busy(load)
    threads = max(1, min(cores, (os.cpu_count() or cores) - busy))
    if threads == cores:
        return
    os.environ[_THREADS] = str(threads)
    click.echo(
        f"{busy} threads of other processes run on {os.cpu_count()} cores: {threads} thread"
        f"{'s' * (threads > 1)} here, or as many as runtime.threads says; {_THREADS}={cores} uses "
        f"{cores}",
        err=True,
    )


def _busy(load: Path) -> int:
    """Threads of other processes that compute all the time: the least of a few samples."""
    running = []
    for _ in range(_SAMPLES):
        running.append(int(load.read_text(encoding="ascii").split()[3].partition("/")[0]))
        time.sleep(_APART)
    return max(0, min(running) - 1)
