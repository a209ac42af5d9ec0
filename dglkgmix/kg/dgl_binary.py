"""A graph as one DGL binary file, which ``dgl.load_graphs`` reads as well.

The file holds the graph of ``KnowledgeGraph.to_dgl``; its labels hold the names, as UTF-8
bytes (``entity_names``) with their bounds (``entity_bounds``), relations likewise. DGL's loader
ends the process on a damaged file, so a digest of the content follows it and is checked first.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from dglkgmix._dgl import dgl
from dglkgmix.atomic import write_atomic
from dglkgmix.errors import DataError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.vocabulary import Vocabulary

_SEAL = b"dglkgmix graph, SHA-256 of all before: "
_DIGEST_SIZE = 32


def save_binary(kg: KnowledgeGraph, path: Path) -> None:
    """Writes a graph with its names and splits.

    Raises:
        StorageError: the file cannot be written.
    """
    labels = {**_pack("entity", kg.entities), **_pack("relation", kg.relations)}
    with tempfile.TemporaryDirectory(prefix="dglkgmix-") as folder:
        part = Path(folder) / "graph"
        dgl.save_graphs(str(part), [kg.to_dgl()], labels)
        content = part.read_bytes()
    write_atomic(path, content + _SEAL + hashlib.sha256(content).digest())


def load_binary(path: Path) -> KnowledgeGraph:
    """Reads what :func:`save_binary` wrote.

    Raises:
        DataError: a file of other origin, or a damaged one.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    body, seal = content[: -_DIGEST_SIZE - len(_SEAL)], content[-_DIGEST_SIZE - len(_SEAL) :]
    if not seal.startswith(_SEAL):
        raise DataError(
            f"{path}: not written by `dglkgmix data convert`, or cut off; load other DGL files in "
            "Python with dgl.load_graphs and KnowledgeGraph.from_dgl"
        )
    if hashlib.sha256(body).digest() != seal[len(_SEAL) :]:
        raise DataError(f"{path}: damaged: its digest does not match its content")
    with tempfile.TemporaryDirectory(prefix="dglkgmix-") as folder:
        # DGL takes no path that is not UTF-8.
        link = Path(folder) / "graph"
        link.symlink_to(path.resolve())
        graphs, labels = dgl.load_graphs(str(link))
    try:
        entities, relations = _unpack("entity", labels), _unpack("relation", labels)
    except KeyError as error:
        raise DataError(f"{path}: the labels {error} are missing") from None
    return KnowledgeGraph.from_dgl(graphs[0], entities=entities, relations=relations)


def _pack(kind: str, vocabulary: Vocabulary) -> dict[str, Tensor]:
    encoded = [name.encode("utf-8") for name in vocabulary]
    bounds = np.cumsum([0, *map(len, encoded)])
    text = np.frombuffer(b"".join(encoded), np.uint8).copy()
    return {
        f"{kind}_names": torch.from_numpy(text),
        f"{kind}_bounds": torch.from_numpy(bounds),
    }


def _unpack(kind: str, labels: dict[str, Tensor]) -> Sequence[str]:
    text, bounds = labels[f"{kind}_names"].numpy(), labels[f"{kind}_bounds"].numpy()
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(text)]
    names: list[str] = pa.Array.from_buffers(
        pa.large_string(), len(bounds) - 1, buffers
    ).to_pylist()
    return names
