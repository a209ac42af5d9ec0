"""Delimited text: TSV, where every character but tab and line end is part of a name, and CSV
(RFC 4180). Triples, queries and ranks are all read here.

Python's ``csv`` and pyarrow's reader are not used: both end rows at a lone CR, and neither refuses
a quote inside an unquoted field.
"""

from __future__ import annotations

import logging
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from dglkgmix.errors import DataError
from dglkgmix.kg import ROLES
from dglkgmix.kg.options import ReadOptions, choose_columns
from dglkgmix.kg.tables import TripleTable

LONGEST_ROW = 1 << 22
# Bad rows of a file that an error names.
MOST_FAULTS = 5
# What columns of heads, relations and tails are called, as in most files with a header.
_TITLES = (
    "head h subject subj s source src from head_id",
    "relation rel r predicate pred p property edge type relation_id",
    "tail t object obj o target dst to tail_id",
)
_log = logging.getLogger(__name__)
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", " ": "space"}
_QUOTE_FAULT = (
    "a quote inside an unquoted field, or one that is never closed: put the field in quotes and "
    "double each quote that belongs to it"
)


@dataclass(frozen=True)
class Dialect:
    """``delimiter``: a character. ``quoted``: RFC 4180 quotes; else quotes are plain text."""

    delimiter: str
    quoted: bool


TSV, CSV = Dialect("\t", quoted=False), Dialect(",", quoted=True)
# Of tables with names of columns: queries and ranks.
DIALECTS = {".csv": CSV, ".tsv": TSV, ".txt": TSV, ".tab": TSV}


def read_text(stream: BinaryIO, name: str, dialect: Dialect, options: ReadOptions) -> TripleTable:
    """All triples of a text.

    Raises:
        DataError: "name:line: what" for the first rows that are no triples, and how many there are:
            another number of fields than expected, an empty field, or, where the reading ends,
            invalid UTF-8 or a quote that breaks RFC 4180.
    """
    rows = text_rows(stream, name, dialect)
    if options.header:
        line, names = next(rows, (1, list(ROLES)))
        width, columns = choose_columns(options.columns, names, f"{name}:{line}")
    else:
        width, columns = choose_columns(options.columns, None, name)
    head, relation, tail = columns
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__
    codes, faults, bad = array("q"), list[str](), 0
    while True:
        try:
            line, fields = next(rows)
            if len(fields) != width:
                check_width(f"{name}:{line}", fields, width, dialect)
            triple = fields[head], fields[relation], fields[tail]
            if "" in triple:
                raise DataError(f"{name}:{line}: the {ROLES[triple.index('')]} is empty")
        except DataError as error:  # After one of `rows` there are none.
            bad += 1
            faults += [str(error)] if bad <= MOST_FAULTS else []
            continue
        except StopIteration:
            break
        if not codes and not options.header:
            _warn_of_header(f"{name}:{line}", triple)
        codes.extend([ids[field] for field in triple])
    if faults:
        further = [f"and {bad - MOST_FAULTS:,} more bad rows"] if bad > MOST_FAULTS else []
        if further and not codes:
            further.append("no row can be read: --columns, --header and --delimiter tell how")
        raise DataError("\n  ".join([*faults, *further]))
    names_read = pa.array(list(ids), pa.large_string())
    return TripleTable(names_read, np.array(codes, np.int64).reshape(-1, 3))


def _warn_of_header(where: str, triple: tuple[str, str, str]) -> None:
    """Where the first row names columns: it would be read as a triple."""
    pairs = zip(triple, _TITLES, strict=True)
    if all(name.strip().casefold() in titles.split() for name, titles in pairs):
        _log.warning(
            "%s: %s look like names of columns, but are read as a triple: --header leaves them out",
            where,
            ", ".join(triple),
        )


def read_table(path: Path, required: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a file with one of the endings ``DIALECTS`` whose first row names the columns.

    Yields:
        "path:line" and the fields by column.

    Raises:
        DataError: a file that cannot be read, a ``required`` column that is missing or there
            twice, or a row that :func:`text_rows` refuses or that has another number of fields.
    """
    dialect = DIALECTS[path.suffix.lower()]
    try:
        with path.open("rb") as stream:
            rows = text_rows(stream, str(path), dialect)
            _, header = next(rows, (1, []))
            check_columns(path, header, required)
            for line, fields in rows:
                where = f"{path}:{line}"
                check_width(where, fields, len(header), dialect)
                yield where, dict(zip(header, fields, strict=True))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def check_columns(path: Path, header: Sequence[str], required: Sequence[str]) -> None:
    """DataError unless each required column is there once."""
    for name in required:
        if header.count(name) != 1:
            what = "is missing" if name not in header else "is there twice"
            raise DataError(
                f"{path}: column {name!r} {what}: the columns must be named {', '.join(required)}"
            )


def text_rows(stream: BinaryIO, name: str, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Each row as its first line's number and its fields.

    LF and CRLF end a row, in CSV outside quotes; blank lines are skipped.

    Raises:
        DataError: "name:line: what" for invalid UTF-8, a broken quote, or a row above 4 MiB.
    """
    quoted, delimiter, line = dialect.quoted, dialect.delimiter, 1
    row = stream.readline(LONGEST_ROW + 1)
    _check_text(row, name)
    row = row.removeprefix(_BOM)
    while row:
        is_quoted = quoted and b'"' in row
        if is_quoted:
            # The lines after it that belong to its quoted fields
            parts, size, is_open = [row], len(row), row.count(b'"') % 2 == 1
            while is_open and size <= LONGEST_ROW and (more := stream.readline(LONGEST_ROW + 1)):
                parts.append(more)
                size += len(more)
                is_open ^= more.count(b'"') % 2 == 1
            row = b"".join(parts)
        if len(row) > LONGEST_ROW:
            raise DataError(f"{name}:{line}: a row longer than {LONGEST_ROW >> 20} MiB")
        try:
            text = row.decode("utf-8")
        except UnicodeDecodeError as error:
            at = line + row.count(b"\n", 0, error.start)
            byte = f"0x{row[error.start]:02x}"
            raise DataError(
                f"{name}:{at}: invalid UTF-8 (byte {byte}): convert it to UTF-8"
            ) from None
        text = text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
        if is_quoted:
            where = f"{name}:{line}"
            yield line, [_unquoted(field, where) for field in _split(text, delimiter)]
        elif text:
            yield line, text.split(delimiter)
        line += row.count(b"\n") if is_quoted else 1
        row = stream.readline(LONGEST_ROW + 1)


def _check_text(row: bytes, name: str) -> None:
    """DataError where a file begins as those do that are no text in UTF-8."""
    without_mark = len(row) >= 8 and not (any(row[:8:2]) and any(row[1:8:2]))
    if row.startswith(_UTF16) or without_mark:
        raise DataError(f"{name}:1: invalid UTF-8 (this looks like UTF-16): convert it to UTF-8")
    if row.startswith(_GZIP):
        raise DataError(f"{name}:1: no text (this looks like gzip): its name must end in .gz")
    if row.startswith(_ZIP):
        raise DataError(f"{name}:1: no text (this looks like zip): unpack it, or save it as text")


def check_width(where: str, fields: list[str], width: int, dialect: Dialect) -> None:
    """DataError unless a row has as many fields as it should."""
    if len(fields) != width:
        kind = _NAMES.get(dialect.delimiter, repr(dialect.delimiter))
        raise DataError(f"{where}: expected {width} {kind}-separated fields, found {len(fields)}")


def _split(text: str, delimiter: str) -> Iterator[str]:
    """The raw fields of a row; delimiters inside quotes are part of a field."""
    parts: list[str] = []
    is_open = False
    for part in text.split(delimiter):
        parts.append(part)
        is_open ^= part.count('"') % 2 == 1
        if not is_open:
            yield delimiter.join(parts)
            parts = []
    if parts:
        yield delimiter.join(parts)


def _unquoted(field: str, where: str) -> str:
    """The text of a CSV field; DataError where its quotes break RFC 4180."""
    if '"' not in field:
        return field
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        raise DataError(f"{where}: {_QUOTE_FAULT}")
    return inner.replace('""', '"')
