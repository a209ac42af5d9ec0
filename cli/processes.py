"""``dglkgmix train`` in several processes: how they start, and which one prints an error."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dglkgmix.errors import ConfigError, DglkgmixError, PeerError

if TYPE_CHECKING:
    from dglkgmix.processes import Processes

# Seconds in which the process that has failed prints why, and the launcher ends the others.
GRACE = 5.0
# Bytes of a process that has PyTorch and no graph yet.
_SMALLEST = 100 * 2**20


def are_to_be_started(count: int | None) -> bool:
    """Whether this process is to start the others, and is none of them; ConfigError below 1."""
    if count is not None and count < 1:
        raise ConfigError(f"--processes must be 1 or more, got {count}")
    return count is not None and count > 1 and "WORLD_SIZE" not in os.environ


def start(count: int, arguments: Sequence[str]) -> int:
    """``dglkgmix`` with ``arguments`` in ``count`` processes, which share the threads.

    They meet as torchrun's do: at a store of this process, through the environment.

    Returns:
        the exit status of the first that failed; 0 where none has.

    Raises:
        ConfigError: so many do not fit into memory.
        PeerError: one of them was ended by a signal.
        KeyboardInterrupt: Ctrl-C; all of them have ended.
    """
    import torch
    from torch.distributed import TCPStore  # type: ignore[attr-defined]
    from torch.multiprocessing.spawn import ProcessExitedException, start_processes

    from dglkgmix.training.memory import available_memory, gib

    available = available_memory(torch.device("cpu"))
    if available is not None and count * _SMALLEST > available:
        raise ConfigError(
            f"--processes {count}: each needs {gib(_SMALLEST)} of memory and more, and "
            f"{gib(available)} are available: start fewer"
        )
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    os.environ |= {
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": "0",  # PyTorch 2.4 reads it
        "OMP_NUM_THREADS": str(max(1, torch.get_num_threads() // count)),
    }
    # It logs whom it ends, where one line says why.
    logging.getLogger("torch.multiprocessing.spawn").setLevel(logging.ERROR)
    context = start_processes(_run, (arguments,), count, join=False)  # type: ignore[no-untyped-call]
    try:
        while not context.join():
            pass
    except ProcessExitedException as error:
        return _status(error.exit_code, count)
    finally:
        for process in context.processes:
            process.terminate()
        for process in context.processes:
            process.join()
    return 0


def _run(index: int, arguments: Sequence[str]) -> None:
    from dglkgmix.cli.main import main

    # Ctrl-C ends it without a message; so does the end of its launcher, where PyTorch sends SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ |= {"RANK": str(index), "LOCAL_RANK": str(index)}
    sys.exit(main(arguments))


def _status(code: int, count: int) -> int:
    """The exit status of ``count`` processes, from that of the first that failed."""
    if code > 0:
        return code
    name = signal.Signals(-code).name
    if name == "SIGINT":
        raise KeyboardInterrupt
    hint = ", as the system does where memory runs out" if name == "SIGKILL" else ""
    raise PeerError(f"one of the {count} processes was ended by {name}{hint}")


@contextmanager
def one_of_all(options: dict[str, Any]) -> Iterator[Processes]:
    """The processes that were started together, this one among them; else this one alone.

    The main one alone prints progress, and the first that fails an error.

    Raises:
        ConfigError: ``--processes`` says another number.
    """
    from dglkgmix.training.parallel import joined

    with joined() as processes, _one_error(processes):
        if options["processes"] not in (None, processes.size):
            raise ConfigError(
                f"--processes {options['processes']}, but there are {processes.size}: leave it "
                "out under torchrun, whose --nproc-per-node says how many"
            )
        if not processes.main:
            options.update(quiet=True, tensorboard=None)
            logging.getLogger("dglkgmix").setLevel(logging.ERROR)
        yield processes


@contextmanager
def _one_error(processes: Processes) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if processes.main:
            raise
        sys.exit(130)
    except Exception as error:
        if isinstance(error, PeerError):
            time.sleep(GRACE)
        if processes.first_to_fail():
            raise
        sys.exit(error.exit_status if isinstance(error, DglkgmixError) else 1)
