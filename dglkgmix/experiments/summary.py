"""What an experiment keeps of a finished run: small, plain, and enough for every table."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

from dglkgmix.config import StrategyConfig
from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.evaluation.metrics import by_bin
from dglkgmix.files import digest
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs.run import Run
from dglkgmix.version import __version__

# One more whenever the content of a summary changes: those of an earlier one are made anew.
FORMAT = 4


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
    measured = None
    if distances:
        tables = run.model.encoder.entity_table.cpu(), run.model.encoder.relation_table.cpu()
        found = embedding_distances(run.kg, *tables, StrategyConfig().threshold)
        measured = {side: found[side] for side in ("head", "relation")}
    return {
        "account": None if table is None else run.account("test", edges),
        "valid_mrr": None if valid is None else valid["overall"]["mrr"],
        "valid_bins": None
        if valid is None
        else {name: found["mrr"] for name, found in by_bin(run.rank_table("valid"), edges).items()},
        "best_epoch": run.metrics["best_epoch"],
        "epochs": run.metrics["epochs"],
        "budget": budget(run.history),
        "distances": measured,
        "ranks": None if table is None else digest(table.to_bytes()),
        "settings": asdict(run.config),
        "probabilities": run.config.sigmoid_is_probability,
        "environment": environment(),
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


def environment() -> dict[str, Any]:
    """Versions and machine, as they belong to a measured figure."""
    versions = {name: metadata.version(name) for name in ("torch", "dgl", "numpy")}
    return {
        "dglkgmix": __version__,
        **versions,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }
