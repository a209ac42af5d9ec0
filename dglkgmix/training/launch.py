"""From a graph and settings to a finished run folder, in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from dglkgmix.config import Config, PretrainConfig, RuntimeConfig, Settled
from dglkgmix.config.checks import validate, validate_for
from dglkgmix.config.goal import MRR
from dglkgmix.config.relevance import idle
from dglkgmix.config.settings import OPTIONS
from dglkgmix.config.toml import merge
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.encoder import Encoder
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE, Processes
from dglkgmix.runs import run_files
from dglkgmix.runs.checkpoint import StateFile
from dglkgmix.runs.results import EVALUATED, Result
from dglkgmix.runs.run_files import Spectator
from dglkgmix.runs.start import read_start
from dglkgmix.strategies import Strategy
from dglkgmix.training.defaults import after_parent, resolve
from dglkgmix.training.memory import check_memory
from dglkgmix.training.prepared import as_weights
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import goal_weights
from dglkgmix.training.stages import MAIN
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
    decoder: Decoder | type[Decoder] | str | None = None,
    encoder: type[Encoder] | str | None = None,
    strategy: type[Strategy] | str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    sample_weight: Any = None,
    parent_name: str = "",
    processes: Processes = ALONE,
) -> Result:
    """Train on ``kg`` and leave the run in the folder ``out``.

    ``decoder``, ``encoder`` and ``strategy`` stand for those of ``config``: a class, of the user's
    or the package's, or its name. ``decoder=Rotation(64)`` is the class with ``entity_dim=64``; its
    weights are drawn anew. ``sample_weight`` (N,) weighs the positive terms of the rows of
    ``kg.train``. ``parent_name`` is what messages call the run that the training starts from; by
    default its folder. All ``processes`` call this alike; the main one alone writes, and all get
    the result.

    Raises:
        ConfigError: options that make no sense, or ``out`` is the run that the training starts
            from; nothing has been written then.
        DataError: ``kg`` is no graph, or the weights are not N, finite and not negative.
        CheckpointError: ``out`` holds something and ``overwrite`` is not set, or is in use.
        NumericError: a loss that is not finite; the best weights so far are in ``out``.
        StorageError: the disk failed; the last complete state is intact.
    """
    if not isinstance(kg, KnowledgeGraph):
        raise DataError(f"kg must be a KnowledgeGraph, as load() reads one, not {kg!r:.40}")
    if sample_weight is not None:
        sample_weight = as_weights(sample_weight, len(kg.train))
    model: dict[str, Any] = {} if decoder is None else {"decoder": decoder}
    if isinstance(decoder, Decoder):
        model = {**decoder.arguments, "decoder": type(decoder)}
    if encoder is not None:
        model["encoder"] = encoder
    chosen = {} if strategy is None else {"name": strategy}
    config = merge(config, {"model": model, "strategy": chosen}, where="train")
    checked = settled(kg, config)
    check_memory(checked, kg, torch.device(checked.runtime.device), processes)
    with torch.device("meta"):  # Refused before anything is written.
        LinkPredictor.build(checked.model, kg)
    start = read_start(checked, kg, parent_name)
    if start is not None:
        parent = checked.training.parent or checked.pretrain.run
        if Path(parent).resolve() == Path(out).resolve():
            raise ConfigError(
                f"{out}: the training starts from this run and would replace it: choose another "
                "folder to write to"
            )
        start.fill(LinkPredictor.build(checked.model, kg))  # Likewise, where weights do not fit.
    folder: RunFolder = Spectator.begin(out)
    if processes.main:
        folder = RunFolder.create(out, overwrite=overwrite, names=_FILES)
    with folder:
        trainer = Trainer(
            kg,
            checked,
            folder,
            start=start,
            progress=progress,
            observers=observers,
            sample_weight=sample_weight,
            processes=processes,
        )
        del start  # As large as the model.
        return trainer.fit()


def settings_of(parent: str) -> Config:
    """Settings of a training that starts from the run ``parent``: the run's, in a single stage.

    It has a quarter of the run's epochs, all of them where the run itself started from one, and the
    device, threads and memory of this machine. Options that its strategy did not read have today's
    defaults.

    Raises:
        CheckpointError: no run, or a damaged one.
    """
    stored = cast(Settled, run_files.read_config(RunFolder.open(parent)))
    epochs = stored.training.epochs
    unread = {
        made.name: made.default
        for key, made in OPTIONS.items()
        if key.startswith("strategy.") and idle(stored, key)
    }
    if not stored.training.parent:  # else it is a quarter already
        epochs = after_parent(epochs)
    return dataclasses.replace(
        stored,
        training=dataclasses.replace(stored.training, parent=parent, epochs=epochs),
        strategy=dataclasses.replace(stored.strategy, **unread),
        pretrain=PretrainConfig(enabled=False),
        runtime=RuntimeConfig(seed=stored.runtime.seed, precision=stored.runtime.precision),
    )


def settled(kg: KnowledgeGraph, config: Config) -> Settled:
    """``config`` as a training on ``kg`` takes it, without "auto" and "same".

    Raises:
        ConfigError: options that make no sense, alone, together or on this graph.
    """
    validate(config)
    found = resolve(config, kg)
    validate_for(found, kg)
    if found.training.select != MRR:
        goal_weights(found.training.select, kg, evaluation_queries(kg, "valid"))
    return found


def opened(out: str | Path, processes: Processes) -> RunFolder:
    """The run folder ``out`` to resume: locked by the main process, read by the others."""
    return RunFolder.resume(out) if processes.main else Spectator.open(out)


def resume(
    folder: RunFolder,
    kg: KnowledgeGraph,
    config: Config,
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] = (),
    processes: Processes = ALONE,
) -> Result:
    """Go on from the last complete state of a run folder as :func:`opened` gives it, or from the
    start without one; with the run's ``sample_weight``.

    On the CPU of the same machine, with the same versions and the recorded numbers of threads and
    processes, the result has the bits of an uninterrupted training. A finished run goes on where
    ``config`` allows it more epochs.

    Raises:
        ConfigError: options that make no sense, or another length that would change nothing.
        CheckpointError: a state that is damaged or of another training.
    """
    checked = settled(kg, config)
    check_memory(checked, kg, torch.device(checked.runtime.device), processes)
    begun = folder.has(run_files.CONFIG)
    if begun:
        _check_length(folder, checked)
    trainer = Trainer(
        kg,
        checked,
        folder,
        start=None if folder.has(run_files.STATE) else read_start(checked, kg),
        resume=True,
        sample_weight=run_files.read_sample_weight(folder) if begun else None,
        progress=progress,
        observers=observers,
        processes=processes,
    )
    return trainer.fit()


def _check_length(folder: RunFolder, config: Config) -> None:
    """Refuse fewer epochs than are done, and more where patience has run out.

    Args:
        folder: a run that has begun.
        config: settled.
    """
    before, now = run_files.read_config(folder).training, config.training
    if (before.epochs, before.patience) == (now.epochs, now.patience):
        return
    state = StateFile(folder, "auto").load()
    if state is None or state["stage"] != MAIN:
        return
    done, count = state["epoch"], state["stopping"]["count"]
    if now.epochs < done:
        raise ConfigError(
            f"training.epochs is {now.epochs} now, and {done} epochs are trained already: leave "
            "it out, or train anew with fewer in another folder"
        )
    ended, ends = (
        done >= training.epochs or 0 < training.patience <= count for training in (before, now)
    )
    if ended and ends:
        raise ConfigError(
            f"the training is over after {done} epochs, {count} validations without a new best, "
            f"and training.epochs {now.epochs} with training.patience {now.patience} change "
            "nothing: raise both as far as it is to go on, or leave them out"
        )
