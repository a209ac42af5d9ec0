"""Where the fields of delimited text begin and end, found for a block of lines at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]
LF, CR, QUOTE = 10, 13, 34
_NAMES = {9: "tab", 44: "comma", 59: "semicolon", 32: "space"}


@dataclass(frozen=True)
class Dialect:
    """``delimiter``: a byte. ``quoted``: RFC 4180 quotes, else a quote is a letter like others."""

    delimiter: int
    quoted: bool

    @property
    def separated(self) -> str:
        """What fields are called in messages, as "tab-separated"."""
        return f"{_NAMES.get(self.delimiter, repr(chr(self.delimiter)))}-separated"


@dataclass(frozen=True, eq=False)
class Layout:
    """Fields and rows of a block that ends where a row ends. Blank lines are no rows.

    Attributes:
        data: the bytes.
        starts, ends: (F,) bounds of each field, its line end left out.
        first: (N,) first field of each row.
        counts: (N,) number of fields of each row.
    """

    data: Array
    starts: Array
    ends: Array
    first: Array
    counts: Array

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of(cls, block: bytes, dialect: Dialect) -> Layout:
        """The layout of a block; LF and CRLF end a row, as does the end of the block."""
        data = np.frombuffer(block, np.uint8)
        stops = np.flatnonzero(_separators(data, dialect))
        if block and not (len(stops) and stops[-1] == len(data) - 1 and data[-1] == LF):
            stops = np.append(stops, len(data))
        starts = np.concatenate([[0], stops[:-1] + 1]) if len(stops) else stops
        last = _row_ends(data, stops)
        first = np.concatenate([[0], last[:-1] + 1]) if len(last) else last
        ends = _without_cr(data, starts, stops, last)
        counts = last - first + 1
        rows = (counts > 1) | (starts[first] < ends[first])
        return cls(data, starts, ends, first[rows], counts[rows])

    def rows(self, begin: int, end: int) -> Layout:
        """Some of the rows, over the same bytes."""
        chosen = slice(begin, end)
        return Layout(self.data, self.starts, self.ends, self.first[chosen], self.counts[chosen])

    def fields_of(self, row: int) -> list[bytes]:
        """The raw fields of one row."""
        span = range(self.first[row], self.first[row] + self.counts[row])
        return [self.data[self.starts[i] : self.ends[i]].tobytes() for i in span]

    def position(self, row: int) -> int:
        """Where a row begins in the block."""
        return int(self.starts[self.first[row]])

    def pick(self, columns: tuple[int, ...]) -> pa.Array:
        """Strings of the given columns, row by row. No field of them may be empty."""
        fields = self.first[:, None] + np.sort(np.asarray(columns))
        starts, ends = self.starts[fields].ravel(), self.ends[fields].ravel()
        edges = np.zeros(len(self.data) + 1, np.int8)
        edges[starts] = 1
        edges[ends] = -1
        wanted = np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
        offsets = np.concatenate([[0], np.cumsum(ends - starts)])
        return strings(self.data[wanted], offsets)


def strings(data: Array, offsets: Array) -> pa.Array:
    """An Arrow array of strings over bytes; nothing is copied and nothing checked."""
    buffers = [None, pa.py_buffer(offsets.astype(np.int64, copy=False)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


def first_bad_byte(block: bytes) -> int | None:
    """Position of the first byte that is not UTF-8; None where all are."""
    whole = strings(np.frombuffer(block, np.uint8), np.array([0, len(block)]))
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return _decode_error(block)
    return None


def _decode_error(block: bytes) -> int | None:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def unquote(field: str) -> str | None:
    """The text of a CSV field; None where its quotes break RFC 4180."""
    if '"' not in field:
        return field
    inner = field[1:-1]
    if len(field) < 2 or field[0] != '"' or field[-1] != '"' or '"' in inner.replace('""', ""):
        return None
    return inner.replace('""', '"')


def inside_quotes(data: Array) -> Array:
    """Whether an odd number of quotes precedes each byte or is completed by it."""
    inside: Array = np.logical_xor.accumulate(data == QUOTE)
    return inside


def _separators(data: Array, dialect: Dialect) -> Array:
    found: Array = (data == dialect.delimiter) | (data == LF)
    if dialect.quoted and (data == QUOTE).any():
        found &= ~inside_quotes(data)
    return found


def _row_ends(data: Array, stops: Array) -> Array:
    """Which of the stops end a row."""
    is_end = np.ones(len(stops), np.bool_)
    inner = stops < len(data)
    is_end[inner] = data[stops[inner]] == LF
    last: Array = np.flatnonzero(is_end)
    return last


def _without_cr(data: Array, starts: Array, stops: Array, last: Array) -> Array:
    """Ends of fields: their stops, less a CR that precedes an LF."""
    ends: Array = stops.copy()
    at = last[(stops[last] < len(data)) & (stops[last] > starts[last])]
    ends[at] -= data[stops[at] - 1] == CR
    return ends
