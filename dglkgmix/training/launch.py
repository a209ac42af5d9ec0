"""From a graph and settings to a finished run folder, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training import run_files
from dglkgmix.training.config import Config
from dglkgmix.training.memory import check_memory
from dglkgmix.training.progress import Progress
from dglkgmix.training.results import EVALUATED, Result
from dglkgmix.training.strategies.weighted import edge_weights
from dglkgmix.training.trainer import Observer, Trainer

_FILES = (
    run_files.CONFIG,
    run_files.ENTITIES,
    run_files.RELATIONS,
    run_files.TRIPLES,
    run_files.MODEL,
    run_files.HISTORY,
    run_files.METRICS,
    run_files.STATE,
    *map(run_files.ranks_name, EVALUATED),
)


def train(
    kg: KnowledgeGraph,
    config: Config,
    out: str | Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    sample_weight: Any = None,
) -> Result:
    """Train on ``kg`` and leave the run in the folder ``out``.

    ``sample_weight`` (N,) weighs the positive terms of the rows of ``kg.train``.

    Raises:
        ConfigError: options that make no sense; nothing has been written then.
        CheckpointError: ``out`` holds something and ``overwrite`` is not set, or is in use.
        NumericError: a loss that is not finite; the best weights so far are in ``out``.
        StorageError: the disk failed; the last complete state is intact.
    """
    run_files.given_tables(_check(kg, config), kg)
    with RunFolder.create(out, overwrite=overwrite, names=_FILES) as folder:
        weights = None
        if sample_weight is not None:
            weights = edge_weights(kg, torch.as_tensor(sample_weight, dtype=torch.float64))
        return Trainer(
            kg, config, folder, progress=progress, observers=observers, weights=weights
        ).fit()


def resume(
    folder: RunFolder,
    kg: KnowledgeGraph,
    config: Config,
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
) -> Result:
    """Go on from the last complete state of a locked run folder, or from the start without one.

    On the CPU, and with the recorded number of threads, the result is that of an uninterrupted
    training to the bit. A finished run goes on where ``config`` allows it more epochs.
    """
    _check(kg, config)
    trainer = Trainer(kg, config, folder, resume=True, progress=progress, observers=observers)
    return trainer.fit()


def _check(kg: KnowledgeGraph, config: Config) -> Config:
    """The settled configuration, once it is known to make sense and to fit into memory."""
    settled_config = Trainer.check(kg, config)
    check_memory(settled_config, kg, torch.device(settled_config.runtime.device))
    return settled_config
