"""Triples from a file of any format that is read here, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from dglkgmix.errors import DataError
from dglkgmix.kg.options import ReadOptions, strip_compression
from dglkgmix.kg.readers_text import CSV, TSV, Dialect, read_text
from dglkgmix.kg.tables import TripleTable
from dglkgmix.paths import path_of

__all__ = ["ReadOptions", "read_triples"]

# Parquet is packed already: what a packing around it may unpack to, in bytes and in times its size.
UNPACKED = 1 << 26
RATIO = 20


def read_triples(path: str | Path, *, options: ReadOptions | None = None) -> TripleTable:
    """All triples of a file, row by row, names to the letter.

    The format is TSV, CSV, Parquet, N-Triples or Turtle, each also as .gz, .bz2, .xz or .zst.

    Raises:
        DataError: a file that cannot be read, or "path:line: what" for the first bad row.
        DependencyError: the format needs a package that is not installed.
    """
    path, options = path_of(path), options or ReadOptions()
    if not path.is_file():
        raise DataError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    try:
        with _open(path) as stream:
            table = _read(stream, path, options)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}") from None
    return table.renamed(options.name, str(path)) if options.changes_names else table


def _read(stream: BinaryIO, path: Path, options: ReadOptions) -> TripleTable:
    form = options.format_of(path)
    if form == "parquet":
        from dglkgmix.kg.readers_parquet import read_parquet

        if strip_compression(path) != path:
            return read_parquet(pa.py_buffer(_unpacked(stream, path)), str(path), options)
        # As bytes: pyarrow takes no text of a path that is not UTF-8.
        with pa.OSFile(os.fsencode(path)) as source:
            return read_parquet(source, str(path), options)
    if form in ("ntriples", "turtle"):
        from dglkgmix.kg.readers_rdf import read_rdf

        return read_rdf(stream, str(path), form)
    dialect = CSV if form == "csv" else TSV
    if options.delimiter:
        dialect = Dialect(options.delimiter, dialect.quoted)
    return read_text(stream, str(path), dialect, options)


def _unpacked(stream: BinaryIO, path: Path) -> bytes:
    """Everything, unless the file is one that a few bytes make enormous."""
    most = UNPACKED + RATIO * path.stat().st_size
    data = stream.read(most + 1)
    if len(data) > most:
        raise DataError(f"{path}: unpacks to more than {RATIO} times its size: give it unpacked")
    return data


def _open(path: Path) -> BinaryIO:
    """The file's bytes, decompressed by its ending."""
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast(BinaryIO, gzip.open(path))
    if ending == ".bz2":
        return cast(BinaryIO, bz2.open(path))
    if ending == ".xz":
        return cast(BinaryIO, lzma.open(path))
    if ending == ".zst":
        raw = pa.input_stream(pa.OSFile(os.fsencode(path)), compression="zstd")
        return cast(BinaryIO, io.BufferedReader(raw))
    return path.open("rb")
