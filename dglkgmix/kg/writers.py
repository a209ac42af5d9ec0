"""A graph's splits as a folder of TSV or Parquet files, or as one DGL binary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from torch import Tensor

from dglkgmix.atomic import refuse_existing, write_folder
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg import ROLES, SPLITS
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.sources import split_files
from dglkgmix.parquet import packed
from dglkgmix.paths import path_of

_BY_ENDING = {".parquet": "parquet", ".dgl": "dgl", ".bin": "dgl"}
_NOT_WRITTEN = {".csv", ".txt", ".json", ".jsonl", ".nt", ".ttl", ".xlsx", ".gz", ".zip"}
_BOM = "\ufeff"


def target_of(path: Path) -> str:
    """The target that an output path's ending means: "parquet", "dgl", else "tsv".

    Raises:
        ConfigError: the ending of a format that is not written.
    """
    if path.suffix.lower() in _NOT_WRITTEN:
        raise ConfigError(
            f"{path}: {path.suffix} files are not written: name a folder, which TSV files go into, "
            "or end the name in .parquet, .dgl or .bin"
        )
    return _BY_ENDING.get(path.suffix.lower(), "tsv")


def write(kg: KnowledgeGraph, path: Path, target: str, *, overwrite: bool = False) -> list[Path]:
    """Writes a graph and returns the files written.

    "tsv" and "parquet" make a folder with a file for each split, also for an empty one; "dgl"
    makes one file.

    Raises:
        ConfigError: a file exists and ``overwrite`` is not set.
        DataError: a split has a file of another format in the folder, or TSV cannot hold a name.
        StorageError: a file cannot be written.
    """
    path = path_of(path)
    if target == "dgl":
        from dglkgmix.kg.dgl_binary import save_binary

        refuse_existing([path], overwrite=overwrite)
        save_binary(kg, path)
        return [path]
    files = {split: path / f"{split}.{target}" for split in SPLITS}
    refuse_existing(files.values(), overwrite=overwrite)
    for split, file in files.items():
        others = [p for p in split_files(path, split) if p != file] if path.is_dir() else []
        if others:  # A folder with two files for a split cannot be read.
            raise DataError(
                f"{others[0]} holds the same split as {file.name} would: choose another folder"
            )
    to_bytes = tsv_bytes if target == "tsv" else parquet_bytes
    contents = {file: to_bytes(kg, kg.split(split)) for split, file in files.items()}
    return write_folder(contents, overwrite=overwrite)


def tsv_bytes(kg: KnowledgeGraph, rows: Tensor) -> bytes:
    """Rows (N, 3) as tab-separated names, which the TSV reader turns into the same rows.

    A row whose tail ends with a CR is ended by CRLF, so that the CR stays part of the name; a
    file that begins with U+FEFF gets a byte-order mark before it.

    Raises:
        DataError: a name that holds a tab or a line feed.
    """
    for vocabulary in (kg.entities, kg.relations):
        vocabulary.check_tsv("convert to Parquet")
    heads, relations, tails = _columns(kg, rows)
    tab, nothing = pa.scalar("\t", pa.large_string()), pa.scalar("", pa.large_string())
    ends = pc.if_else(pc.ends_with(tails, "\r"), "\r\n", "\n").cast(pa.large_string())
    lines = pc.binary_join_element_wise(heads, relations, tails, tab)
    lines = pc.binary_join_element_wise(lines, ends, nothing)
    if not len(lines):
        return b""
    # The array's data buffer, up to the last line's end, is the file.
    _, offsets, data = lines.buffers()
    text = bytes(data[: int(np.frombuffer(offsets, np.int64)[len(lines)])])
    return _BOM.encode() + text if text.startswith(_BOM.encode()) else text


def parquet_bytes(kg: KnowledgeGraph, rows: Tensor) -> bytes:
    """Rows (N, 3) as Parquet with the string columns head, relation and tail."""
    return packed(pa.table(_columns(kg, rows), names=list(ROLES)))


def _columns(kg: KnowledgeGraph, rows: Tensor) -> list[pa.Array]:
    """Names of heads, relations and tails, (N,) each."""
    vocabularies = (kg.entities, kg.relations, kg.entities)
    return [
        vocabulary.arrow().take(pa.array(ids.numpy()))
        for vocabulary, ids in zip(vocabularies, rows.unbind(1), strict=True)
    ]
