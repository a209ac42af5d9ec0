"""Triples from a file of any format that is read here, compressed or not.

Names from N-Triples and Turtle: an IRI without its angle brackets; a blank node as ``_:label``; a
literal in its N-Triples form, quotes and language or datatype included
(``"12"^^<http://…#integer>``). No two of these can be equal. A label of a blank node means the
same node in every file of a folder, as its files are splits of one graph. Nodes that Turtle leaves
without a label are named ``_:[file:number]``, which no label can be.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from dglkgmix.errors import DataError, DependencyError
from dglkgmix.kg import ROLES
from dglkgmix.kg.options import ReadOptions, choose_columns, strip_compression
from dglkgmix.kg.readers_text import CSV, TSV, Dialect, read_text
from dglkgmix.kg.tables import Codes, TripleTable, encode_fields, merge, unify
from dglkgmix.paths import path_of

# Limits of compression around Parquet, which is compressed already: decompressed bytes, and that
# number in relation to the file's size.
UNPACKED = 1 << 26
RATIO = 20
_OPEN: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ROWS_AT_ONCE = 100_000
_PLACE = re.compile(r"^Parser error at (line \d+ )?")


def read_triples(path: str | Path, *, options: ReadOptions | None = None) -> TripleTable:
    """All triples of a file, row by row, names unchanged.

    The format is TSV, CSV, Parquet, N-Triples or Turtle, each also as .gz, .bz2, .xz or .zst.

    Raises:
        DataError: a file that cannot be read, or "path:line: what" for the first bad row.
        DependencyError: the format needs a package that is not installed.
    """
    path, options = path_of(path), options or ReadOptions()
    if not path.is_file():
        if path.exists() and not path.is_dir():
            raise DataError(f"{path}: a pipe or device: write its content to a file first")
        raise DataError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    ending = path.suffix.lower()
    try:
        if ending in _OPEN:
            stream = cast(BinaryIO, _OPEN[ending](path))
        elif ending == ".zst":
            raw = pa.input_stream(pa.OSFile(os.fsencode(path)), compression="zstd")
            stream = cast(BinaryIO, io.BufferedReader(raw))
        else:
            stream = path.open("rb")
        with stream:
            table = _read(stream, path, options)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}") from None
    return table.renamed(options.name, str(path)) if options.changes_names else table


def _read(stream: BinaryIO, path: Path, options: ReadOptions) -> TripleTable:
    form = options.format_of(path)
    if form == "parquet" and strip_compression(path) == path:
        # As bytes: pyarrow takes no text of a path that is not UTF-8.
        with pa.OSFile(os.fsencode(path)) as source:
            return read_parquet(source, str(path), options)
    if form == "parquet":
        most = UNPACKED + RATIO * path.stat().st_size
        data = stream.read(most + 1)
        if len(data) > most:
            raise DataError(
                f"{path}: unpacks to more than {RATIO} times its size: give it unpacked"
            )
        return read_parquet(pa.py_buffer(data), str(path), options)
    if form in ("ntriples", "turtle"):
        options.refuse(("columns", "header", "delimiter"), path)
        return read_rdf(stream, str(path), form)
    dialect = CSV if form == "csv" else TSV
    if options.delimiter:
        dialect = Dialect(options.delimiter, dialect.quoted)
    return read_text(stream, str(path), dialect, options)


def read_parquet(source: Any, name: str, options: ReadOptions) -> TripleTable:
    """All rows of a Parquet file or Arrow buffer; integers become their decimal digits.

    Raises:
        DataError: "name: what", or "name:row: what" with rows counted from 1.
    """
    import pyarrow.compute as pc

    from dglkgmix.parquet import read_checked

    def columns_of(schema: pa.Schema) -> list[str]:
        _, positions = choose_columns(options.columns, schema.names, name)
        fields = [schema.field(at) for at in positions]
        for role, field in zip(ROLES, fields, strict=True):
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if not (_is_string(kind) or pa.types.is_integer(kind)):
                raise DataError(
                    f"{name}: the column {field.name!r} for the {role} holds {field.type}, "
                    "but names are strings or integers"
                )
            if schema.names.count(field.name) > 1:
                raise DataError(f"{name}: several columns are named {field.name!r}")
        return [field.name for field in fields]

    parts = []
    for role, column in zip(ROLES, read_checked(source, name, columns_of).columns, strict=True):
        packed = pa.types.is_dictionary(column.type)
        texts = (column.cast(column.type.value_type) if packed else column).cast(pa.large_string())
        # Null counts as bad, too. Bad values are rare, so their place is looked up afterwards.
        bad = pc.fill_null(pc.equal(pc.binary_length(texts), 0), True)
        if pc.any(bad).as_py():
            row = pc.index(bad, True).as_py()
            what = "null" if texts[row].as_py() is None else "empty"
            raise DataError(f"{name}:{row + 1}: the {role} is {what}")
        encoded = texts.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        parts.append((encoded.dictionary, codes))
    names, codes = unify([part[0] for part in parts], [part[1] for part in parts])
    return TripleTable(names, np.stack(codes, 1))


def _is_string(kind: pa.DataType) -> bool:
    views = pa.types.is_string_view(kind) if hasattr(pa.types, "is_string_view") else False
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or views)


def read_rdf(stream: BinaryIO, name: str, format_name: str) -> TripleTable:
    """All triples of an RDF document of the format "ntriples" or "turtle", read by pyoxigraph.

    Raises:
        DataError: "name:line: what" where the document breaks its format.
        DependencyError: pyoxigraph is not installed.
    """
    try:
        import pyoxigraph as ox
    except ImportError:
        raise DependencyError(
            "N-Triples and Turtle need pyoxigraph: pip install 'dglkgmix[rdf]'"
        ) from None
    text = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        if format_name == "ntriples":
            triples = ox.parse(input=text, format=ox.RdfFormat.N_TRIPLES)
            return merge(list(_rdf_parts(ox, name, ((triple, triple) for triple in triples))))
        # pyoxigraph gives a node without a label a random one, another one at each reading.
        readings = [ox.parse(input=text, format=ox.RdfFormat.TURTLE) for _ in range(2)]
        return merge(list(_rdf_parts(ox, name, zip(*readings, strict=True))))
    except SyntaxError as error:
        what = _PLACE.sub("", str(error.msg))
        raise DataError(f"{name}:{error.lineno or 1}: {what}") from None


def _rdf_parts(ox: Any, name: str, pairs: Iterable[Any]) -> Iterator[tuple[pa.Array, Codes]]:
    """Names and codes; ``pairs`` holds each triple as two readings gave it."""
    file = strip_compression(Path(name)).name
    unlabelled: dict[str, str] = {}
    fields: list[str] = []
    for triple, again in pairs:
        for term, other in zip(tuple(triple)[:3], tuple(again)[:3], strict=True):
            if isinstance(term, ox.NamedNode):
                fields.append(term.value)
            elif isinstance(term, ox.Literal):
                fields.append(str(term))
            elif not isinstance(term, ox.BlankNode):
                raise DataError(f"{name}: a triple about a triple cannot be read: {term}")
            elif term == other:
                fields.append(f"_:{term.value}")
            else:
                number = len(unlabelled) + 1
                fields.append(unlabelled.setdefault(term.value, f"_:[{file}:{number}]"))
        if len(fields) >= 3 * _ROWS_AT_ONCE:
            yield encode_fields(pa.array(fields, pa.large_string()))
            fields = []
    yield encode_fields(pa.array(fields, pa.large_string()))
