"""Training in several processes, started by torchrun: how they meet, and what they add up.

Every process holds the whole model and the same optimiser. Gradients are summed once all of them
are there, explicitly: the gradient of the entity table comes out of the losses' own functions at
the very end of the backward pass, so hooks that send early would have nothing to send, and sums
keep the meaning of both reductions.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.rendezvous import rendezvous

from dglkgmix.errors import ConfigError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training.batch_loss import LossTerms
from dglkgmix.training.config import Config, DataConfig, RuntimeConfig
from dglkgmix.training.config_io import dumps
from dglkgmix.world import ALONE, Processes, World, connections

# What torchrun tells each process; without all of them a process is alone.
_MEETING = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# Processes wait for the main one's longest work alone: reading, writing and calibrating.
_PATIENCE = timedelta(hours=2)


@contextmanager
def joined(environment: Mapping[str, str] = os.environ) -> Iterator[World]:
    """The processes that ``environment`` speaks of, once all of them have come.

    Sums of CPU tensors go through gloo, those of CUDA tensors through NCCL.
    """
    told = [environment.get(name) for name in _MEETING]
    if None in told or environment["WORLD_SIZE"] == "1":
        yield ALONE
        return
    attempt = int(environment.get("TORCHELASTIC_RESTART_COUNT", 0))
    with connections():
        store, index, size = next(rendezvous("env://"))
    # The store outlives an attempt, and so would the addresses of its processes.
    store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
    neighbours = int(environment.get("LOCAL_WORLD_SIZE", size))
    _pick_gpu(int(environment.get("LOCAL_RANK", 0)))
    with connected(store, index, size):
        yield Processes(store, index, size, neighbours=neighbours, attempt=attempt)


@contextmanager
def connected(store: Any, index: int, size: int) -> Iterator[None]:
    """A process group within the block; left standing by an error, which ends the process."""
    both = torch.cuda.is_available() and dist.is_nccl_available()
    backend = "cpu:gloo,cuda:nccl" if both else "gloo"
    with connections():
        dist.init_process_group(
            backend, store=store, rank=index, world_size=size, timeout=_PATIENCE
        )
    yield
    dist.destroy_process_group()


def _pick_gpu(number: int) -> None:
    """Make "cuda" another GPU in each process of a machine."""
    if number < torch.cuda.device_count():
        torch.cuda.set_device(number)


def check_devices(device: torch.device, world: World) -> None:
    """Refuse processes that would share a GPU.

    Raises:
        ConfigError: names the device and what to do.
    """
    if device.type != "cuda" or world.size == 1:
        return
    if device.index is not None and world.neighbours > 1:
        raise ConfigError(
            f"runtime.device {str(device)!r} is one GPU for {world.neighbours} processes: "
            "take --device cuda, which gives each its own"
        )
    if world.neighbours > torch.cuda.device_count():
        raise ConfigError(
            f"{world.neighbours} processes on a machine with {torch.cuda.device_count()} GPUs: "
            "start as many as there are GPUs, or take --device cpu"
        )


def check_inputs(kg: KnowledgeGraph, config: Config, world: World) -> None:
    """Refuse processes that read other triples or settings than the main one.

    Raises:
        ConfigError: in every process.
    """
    if world.size == 1:
        return
    # Machines may differ, and so may the places where they keep the triples.
    runtime = RuntimeConfig(seed=config.runtime.seed, precision=config.runtime.precision)
    compared = dataclasses.replace(config, data=DataConfig(), runtime=runtime)
    seen = hashlib.blake2b(dumps(compared).encode(), digest_size=6)
    for split in SPLITS:
        seen.update(kg.split(split).numpy().tobytes())
    own = int.from_bytes(seen.digest(), "big")
    agree = own == int(world.agreed(own))
    if not world.smallest(int(agree)):
        raise ConfigError(
            "the processes do not train on the same triples with the same settings: give all of "
            "them the same SOURCE and options"
        )


def add_up(terms: LossTerms, model: nn.Module, world: World) -> LossTerms:
    """Sum gradients, in place, and losses over processes: those of the whole batch."""
    if world.size == 1:
        return terms
    figures = torch.stack([terms.loss.detach(), terms.kg_loss, terms.synthetic_loss])
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    world.add_up(*gradients, figures)
    loss, kg_loss, synthetic_loss = figures
    return dataclasses.replace(terms, loss=loss, kg_loss=kg_loss, synthetic_loss=synthetic_loss)


def job(environment: Mapping[str, str] = os.environ) -> str:
    """A name for the launcher that has started this process, the same after it starts it anew.

    Empty where none has. Launchers have no names of their own that differ from each other, so
    it is their process: its number and the time it began.
    """
    if "TORCHELASTIC_RUN_ID" not in environment:
        return ""
    launcher = os.getppid()
    try:
        began = Path(f"/proc/{launcher}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        began = ""
    return f"{environment['TORCHELASTIC_RUN_ID']} {launcher} {began}"
