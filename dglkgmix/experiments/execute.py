"""One training of an experiment: made, gone on with, or found finished; and what is kept of it."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from dglkgmix.atomic import write_atomic
from dglkgmix.config import Config, DataConfig, StrategyConfig
from dglkgmix.config.toml import set_option
from dglkgmix.errors import CheckpointError
from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.evaluation.metrics import by_bin
from dglkgmix.experiments.plan import Training
from dglkgmix.files import MANIFEST, RunFolder, digest
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs import run_files
from dglkgmix.runs.run import Run
from dglkgmix.training import launch
from dglkgmix.training.progress import Progress, make_progress
from dglkgmix.version import __version__

RUNS, SUMMARIES = "runs", "summaries"
# One more whenever the content of a summary changes: those of an earlier one are made anew.
FORMAT = 4


@lru_cache(maxsize=4)
def load_graph(data: DataConfig) -> KnowledgeGraph:
    """The graph of a ``[data]`` table; the last few are kept, as cells share them.

    Raises:
        DataError: data that cannot be found or read.
    """
    from dglkgmix.kg.options import ReadOptions
    from dglkgmix.kg.sources import load

    options = ReadOptions(**data.reading)
    return load(data.source, options=options, **data.splitting)


@lru_cache(maxsize=64)
def _digest_of(data: DataConfig) -> str:
    return graph_digest(load_graph(data))


@dataclass(frozen=True)
class Job:
    """Makes the trainings of a plan by name, in this process or in a worker's.

    ``bins`` are edges of the summaries' degree bins; ``distances`` asks for embedding distances.
    """

    out: Path
    trainings: Mapping[str, Training]
    bins: tuple[int, ...]
    distances: bool = False
    quiet: bool = False

    def __call__(self, name: str) -> None:
        """Train where that is not done yet, then write the summary where it is not there yet."""
        training = self.trainings[name]
        path, earlier = self.out / RUNS / name, self._read(name)
        config: Config = training.config
        if training.needs is not None:
            config = set_option(config, "pretrain.run", str(self.out / RUNS / training.needs))
        train_or_resume(path, config, make_progress(quiet=self.quiet))
        if self.summary(name) is None:
            found = summarise(Run.open(path), self.bins, self.distances)
            if "environment" in earlier:  # where it was trained, not where it is looked at again
                found["environment"] = earlier["environment"]
            if training.needs is not None:
                # Wherever the experiment's folder lies, and wherever it moves.
                found["settings"]["pretrain"]["run"] = f"{RUNS}/{training.needs}"
            (self.out / SUMMARIES).mkdir(exist_ok=True)
            write_atomic(self._summary_file(name), json.dumps(found, indent=1).encode())

    def summary(self, name: str) -> dict[str, Any] | None:
        """The summary of a finished training that is there, made with the same bins; else None.

        Raises:
            CheckpointError: the training saw other triples than its data source has now.
        """
        found = self._read(name)
        if found.get("format") != FORMAT or not (self.out / RUNS / name / MANIFEST).exists():
            return None
        data = self.trainings[name].config.data
        if found["graph"] != _digest_of(data):
            raise CheckpointError(
                f"{data.source}: other triples than {self.out / RUNS / name} was trained on; "
                "choose another --out, or remove that folder to train it anew"
            )
        same = found["bin_edges"] == list(self.bins)
        return found if same and (found["distances"] is not None or not self.distances) else None

    def _read(self, name: str) -> dict[str, Any]:
        """What the summary's file holds; nothing where it is absent or damaged."""
        try:
            found = json.loads(self._summary_file(name).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _summary_file(self, name: str) -> Path:
        return self.out / SUMMARIES / f"{name}.json"


def train_or_resume(path: Path, config: Config, progress: Progress) -> None:
    """Make the run in ``path`` finished, from wherever an earlier call left it.

    Raises:
        CheckpointError: the folder is in use, damaged or holds something else.
        ConfigError, NumericError, StorageError: as the training itself.
    """
    if not (path / MANIFEST).exists():
        launch.train(load_graph(config.data), config, path, progress=progress)
        return
    if Run.open(path).finished:
        return
    with RunFolder.resume(path) as folder:
        if not folder.has(run_files.CONFIG):
            launch.resume(folder, load_graph(config.data), config, progress=progress)
            return
        stored = run_files.read_config(folder)
        # The machine stays as recorded, since bits hold for one number of threads; the folder
        # of the first stage may have moved with the experiment.
        config = dataclasses.replace(config, runtime=stored.runtime)
        launch.resume(folder, run_files.read_graph(folder), config, progress=progress)


def summarise(run: Run, bins: Sequence[int], distances: bool) -> dict[str, Any]:
    """The summary of a finished run.

    Returns:
        what ``results.json`` tells of a cell (``docs/guides/experiments.md``): ``account`` is
        None without test triples, ``valid_mrr`` and ``valid_bins`` without validation triples,
        ``distances`` where not asked for. Besides ``graph`` (see :func:`graph_digest`),
        ``bin_edges`` and ``format``.
    """
    edges = DegreeBins(tuple(bins))
    table = run.rank_table("test") if len(run.kg.test) else None
    valid = run.metrics["valid"]
    valid_bins = measured = None
    if valid is not None:
        groups = by_bin(run.rank_table("valid"), edges)
        valid_bins = {name: found["mrr"] for name, found in groups.items()}
    if distances:
        tables = run.model.encoder.entity_table.cpu(), run.model.encoder.relation_table.cpu()
        found = embedding_distances(run.kg, *tables, StrategyConfig().threshold)
        measured = {side: found[side] for side in ("head", "relation")}
    return {
        "account": None if table is None else run.account("test", edges, table=table),
        "valid_mrr": None if valid is None else valid["overall"]["mrr"],
        "valid_bins": valid_bins,
        "best_epoch": run.metrics["best_epoch"],
        "epochs": run.metrics["epochs"],
        "budget": budget(run.history),
        "distances": measured,
        "ranks": None if table is None else digest(table.to_bytes()),
        "settings": asdict(run.config),
        "probabilities": run.config.sigmoid_is_probability,
        "environment": environment(run.config.runtime.device),
        "graph": graph_digest(run.kg),
        "bin_edges": list(bins),
        "format": FORMAT,
    }


def budget(history: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Stage → ``steps`` of the optimiser and ``seconds``, validations included."""
    found: dict[str, dict[str, Any]] = {}
    for row in history:
        stage = found.setdefault(row["stage"], {"steps": 0, "seconds": 0.0})
        stage["steps"] += row["batches"]
        stage["seconds"] += row["seconds"]
    return found


def graph_digest(kg: KnowledgeGraph) -> str:
    """SHA-256 of the triples of the three splits, by name."""
    parts = ["\n".join(vocabulary).encode() for vocabulary in (kg.entities, kg.relations)]
    for triples in (kg.train, kg.valid, kg.test):
        parts += [len(triples).to_bytes(8, "little"), triples.contiguous().numpy().tobytes()]
    return digest(*parts)


def environment(device: str) -> dict[str, Any]:
    """Versions and machine, as they belong to a figure measured on ``device``; ``gpu`` on one."""
    versions = {name: metadata.version(name) for name in ("torch", "dgl", "numpy")}
    return {
        "dglkgmix": __version__,
        **versions,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        **({"gpu": torch.cuda.get_device_name(device)} if device.startswith("cuda") else {}),
    }
