"""Training in several processes: how they meet, and what they add up.

Every process holds the whole model and the same optimiser, and gradients are summed by a plain
``all_reduce`` of each. ``DistributedDataParallel`` would send the entity table's gradient, most of
them all, no earlier: the losses complete it at the very end of the backward pass.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.rendezvous import rendezvous

from dglkgmix.config import Config, DataConfig, RuntimeConfig
from dglkgmix.config.toml import dumps
from dglkgmix.errors import ConfigError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.processes import ALONE, Processes, connections
from dglkgmix.training.batch_loss import LossTerms
from dglkgmix.training.prepared import Counts, PreparedBatch

# Set by torchrun, and by ``--processes``, for each process; without all of them it is alone.
_MEETING = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
# Processes wait for the main one's longest work alone: reading, writing and calibrating.
_PATIENCE = timedelta(hours=2)


@contextmanager
def joined(environment: Mapping[str, str] = os.environ) -> Iterator[Processes]:
    """The processes that ``environment`` names, once all of them have connected.

    Sums of CPU tensors go through gloo, those of CUDA tensors through NCCL.

    Raises:
        PeerError: the others cannot be reached.
    """
    if any(name not in environment for name in _MEETING) or environment["WORLD_SIZE"] == "1":
        yield ALONE
        return
    with connections():
        store, index, size = next(rendezvous("env://"))
    # torchrun's store may outlive an attempt, and so would the addresses in it.
    attempt = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore(f"attempt {attempt}", store)  # type: ignore[attr-defined]
    gpu = int(environment.get("LOCAL_RANK", 0))
    if gpu < torch.cuda.device_count():  # "cuda" is another GPU in each process of a machine
        torch.cuda.set_device(gpu)
    neighbours = int(environment.get("LOCAL_WORLD_SIZE", size))
    with connected(store, index, size):
        yield Processes(index, size, neighbours, store)


@contextmanager
def connected(store: Any, index: int, size: int) -> Iterator[None]:
    """A process group within the block; kept after an error, which ends the process."""
    both = torch.cuda.is_available() and dist.is_nccl_available()
    backend = "cpu:gloo,cuda:nccl" if both else "gloo"
    with connections():
        dist.init_process_group(
            backend, store=store, rank=index, world_size=size, timeout=_PATIENCE
        )
    yield
    dist.destroy_process_group()


def check_devices(device: torch.device, processes: Processes) -> None:
    """Refuse processes that would share a GPU.

    Raises:
        ConfigError: names the device and what to do.
    """
    if device.type != "cuda" or processes.size == 1:
        return
    if device.index is not None and processes.neighbours > 1:
        raise ConfigError(
            f"runtime.device {str(device)!r} is one GPU for {processes.neighbours} processes: "
            "take --device cuda, which gives each its own"
        )
    if processes.neighbours > torch.cuda.device_count():
        raise ConfigError(
            f"{processes.neighbours} processes on a machine with {torch.cuda.device_count()} "
            "GPUs: start as many as there are GPUs, or take --device cpu"
        )


def check_inputs(kg: KnowledgeGraph, config: Config, processes: Processes) -> None:
    """Refuse processes that read other triples or settings than the main one.

    Raises:
        ConfigError: in every process.
    """
    if processes.size == 1:
        return
    # Machines may differ, and so may the places where they keep the triples.
    runtime = RuntimeConfig(seed=config.runtime.seed, precision=config.runtime.precision)
    compared = dataclasses.replace(config, data=DataConfig(), runtime=runtime)
    seen = hashlib.blake2b(dumps(compared).encode())
    for split in SPLITS:
        seen.update(kg.split(split).numpy().tobytes())
    if len(set(processes.gathered(seen.digest()))) > 1:
        raise ConfigError(
            "the processes do not train on the same triples with the same settings: give all of "
            "them the same SOURCE and options"
        )


def count_together(item: PreparedBatch, processes: Processes) -> PreparedBatch:
    """``item`` with the whole batch's counts, which "mean" divides by, and sum of weights."""
    if processes.size == 1:
        return item
    found = [item.terms, *dataclasses.astuple(item.counts), item.excess]
    sums = torch.tensor(found, dtype=torch.double)
    processes.add_up(sums)
    *counts, excess = sums.tolist()
    terms, *whole = map(int, counts)
    return dataclasses.replace(item, terms=terms, whole=Counts(*whole), excess=excess)


def add_up(terms: LossTerms, model: nn.Module, processes: Processes) -> LossTerms:
    """Sum gradients, in place, and losses over processes: those of the whole batch."""
    if processes.size == 1:
        return terms
    figures = torch.stack([terms.loss.detach(), terms.kg_loss, terms.synthetic_loss])
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    processes.add_up(*gradients, figures)
    loss, kg_loss, synthetic_loss = figures
    return dataclasses.replace(terms, loss=loss, kg_loss=kg_loss, synthetic_loss=synthetic_loss)
