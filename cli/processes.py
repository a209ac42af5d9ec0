"""``dglkgmix train`` in several processes: how they are started, and how they speak as one."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.errors import ConfigError, DglkgmixError, PeerError
from dglkgmix.paths import system_text

if TYPE_CHECKING:
    from dglkgmix.world import World

ARGUMENTS = "dglkgmix.arguments"
# Set for processes that are started here: whoever starts them tells what a signal does to them.
LAUNCHED = "DGLKGMIX_LAUNCHED"
# Time for the process that has failed to say why, and for torchrun to end those that lost it.
GRACE = 5.0
# Of Linux: the signal that a process gets when the one that has started it ends.
_PR_SET_PDEATHSIG = 1
_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Repeatable(click.Command):
    """A command that remembers its arguments, so that other processes can be given them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does."""
        ctx.meta[ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def are_to_be_started(processes: int | None) -> bool:
    """Whether this process is to start the others, and is none of them.

    Raises:
        ConfigError: fewer than one.
    """
    if processes is not None and processes < 1:
        raise ConfigError(f"--processes must be 1 or more, got {processes}")
    return processes is not None and processes > 1 and "WORLD_SIZE" not in os.environ


def start(processes: int, context: click.Context, *further: str) -> int:
    """The command of ``context``, with ``further`` options, in that many processes.

    Returns:
        the exit status of the one that failed; 0 where none has.

    Raises:
        PeerError: one of them was ended by a signal.
        KeyboardInterrupt: Ctrl-C; all of them are ended.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        with _quiet(), _signals_kept(), _environment(_settings(processes)):
            _launch(processes, [*_command(context), *further])
    except ChildFailedError as error:
        return _status([int(failure.exitcode) for failure in error.failures.values()], processes)
    except SignalException as error:
        if error.sigval == signal.SIGINT:
            raise KeyboardInterrupt from None
        return 128 + int(error.sigval)
    return 0


@contextmanager
def one_of_all(options: dict[str, Any]) -> Iterator[World]:
    """The processes that torchrun has started, this one among them; else this one alone.

    All but the main one are silent, and of an error in several of them one tells.

    Raises:
        ConfigError: ``--processes`` says another number.
    """
    from dglkgmix.training.parallel import joined

    if os.environ.get(LAUNCHED):
        _follow_launcher()
    with joined() as world, _one_voice(world):
        if options["processes"] not in (None, world.size):
            raise ConfigError(
                f"--processes {options['processes']}, but there are {world.size}: leave it out "
                "under torchrun, whose --nproc-per-node says how many"
            )
        if not world.main:
            options.update(quiet=True, tensorboard=None)
            logging.getLogger("dglkgmix").setLevel(logging.ERROR)
        yield world


@contextmanager
def _one_voice(world: World) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if not world.main:
            sys.exit(130)
        raise
    except Exception as error:
        if world.size == 1:
            raise
        if isinstance(error, PeerError):
            time.sleep(GRACE)
        if not world.claims():
            sys.exit(error.exit_status if isinstance(error, DglkgmixError) else 1)
        raise


def _follow_launcher() -> None:
    """Ctrl-C ends this process without a word, and so does the end of its launcher."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    launcher = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != launcher:  # It has ended just now.
        sys.exit(1)


def _command(context: click.Context) -> list[str]:
    debug = getattr(context.obj, "debug", False)
    return [
        *("-m", "dglkgmix", *["--debug"] * debug),
        *(str(context.info_name), *map(system_text, context.meta[ARGUMENTS])),
    ]


def _launch(processes: int, command: list[str]) -> None:
    """As ``torchrun --standalone`` does, over the loopback interface."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.1,
        start_method="spawn",
    )
    elastic_launch(config, sys.executable)(*command)


def _settings(processes: int) -> dict[str, str]:
    """Environment of the processes: each has its part of the threads."""
    import torch

    settings = {
        LAUNCHED: "1",
        "OMP_NUM_THREADS": str(max(1, torch.get_num_threads() // processes)),
    }
    defaults = {"GLOO_SOCKET_IFNAME": "lo", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    return {**{k: v for k, v in defaults.items() if k not in os.environ}, **settings}


def _status(codes: Sequence[int], processes: int) -> int:
    """The exit status of all, from those of the processes that failed."""
    # The launcher itself ends the others with SIGTERM.
    first = [code for code in codes if code != -signal.SIGTERM] or codes
    if min(first) > 0:
        return min(first)
    name = signal.Signals(-min(first)).name
    hint = ", as the system does where memory runs out" if name == "SIGKILL" else ""
    raise PeerError(f"one of the {processes} processes was ended by {name}{hint}")


@contextmanager
def _environment(settings: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _signals_kept() -> Iterator[None]:
    """The launcher handles signals in its own way: the caller's come back afterwards."""
    before = {number: signal.getsignal(number) for number in _HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _quiet() -> Iterator[None]:
    """The launcher's own account of a failure is dozens of lines; the process has told why."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
