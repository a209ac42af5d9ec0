"""Triples from delimited text: TSV, where every character but tab and line end is part of a
name, and CSV after RFC 4180.

Text is read in blocks of whole rows and split by array operations, not by a CSV library: those
end rows at a lone CR, strip or reinterpret fields, or lose line numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from dglkgmix.errors import DataError
from dglkgmix.kg.fields import LF, Array, Dialect, Layout, first_bad_byte, inside_quotes, unquote
from dglkgmix.kg.options import ReadOptions, choose_columns
from dglkgmix.kg.tables import ROLES, Codes, TripleTable, encode_fields, merge

# A block of nothing but line ends takes 70 times its size; larger blocks are no faster.
BLOCK = 1 << 21
LONGEST_ROW = 1 << 22
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_QUOTE_FAULT = (
    "a quote inside an unquoted field, or one that is never closed: put the field in quotes and "
    "double each quote that belongs to it"
)


def read_text(stream: BinaryIO, name: str, dialect: Dialect, options: ReadOptions) -> TripleTable:
    """All rows of a text.

    Raises:
        DataError: "name:line: what" for the first row that is not a triple: invalid UTF-8, another
            number of fields than expected, an empty field, a quote that breaks RFC 4180.
    """
    reader = _TextReader(name, dialect, options)
    return merge([part for block in _blocks(stream, name, dialect) for part in reader.read(block)])


class _TextReader:
    """Reads block after block, counting lines for messages."""

    def __init__(self, name: str, dialect: Dialect, options: ReadOptions) -> None:
        self._name = name
        self._dialect = dialect
        self._options = options
        self._lines = 0
        self._header_due = options.header
        self._width, self._columns = 0, (0, 0, 0)
        if not options.header:
            self._width, self._columns = choose_columns(options.columns, None, name)

    def read(self, block: bytes) -> Iterator[tuple[pa.Array, Codes]]:
        """Names and codes of one block's rows; nothing where it has none."""
        bad_byte = first_bad_byte(block)
        usable = (
            block if bad_byte is None else block[: _last_row_end(block[:bad_byte], self._dialect)]
        )
        layout = Layout.of(usable, self._dialect)
        if self._header_due and len(layout):
            self._read_header(layout)
            layout = layout.rows(1, len(layout))
        if len(layout):
            yield self._encode(block, layout)
        if bad_byte is not None:
            raise self._error(block, bad_byte, f"invalid UTF-8 (byte 0x{block[bad_byte]:02x})")
        self._lines += block.count(b"\n")

    def _read_header(self, layout: Layout) -> None:
        names = [self._text(field) for field in layout.fields_of(0)]
        line = self._lines + 1 + int(np.count_nonzero(layout.data[: layout.position(0)] == LF))
        where = f"{self._name}:{line}"
        self._width, self._columns = choose_columns(self._options.columns, names, where)
        self._header_due = False

    def _text(self, field: bytes) -> str:
        text = field.decode("utf-8")
        return (unquote(text) or text) if self._dialect.quoted else text

    def _encode(self, block: bytes, layout: Layout) -> tuple[pa.Array, Codes]:
        fault = self._first_fault(layout)
        good = layout if fault is None else layout.rows(0, fault)
        names, codes = encode_fields(good.pick(self._columns))
        if self._dialect.quoted:
            names = self._unquoted(names, codes, block, good)
        if fault is not None:
            raise self._error(
                block, layout.position(fault), self._describe(layout.fields_of(fault))
            )
        return names, codes[:, np.argsort(np.argsort(self._columns))]

    def _first_fault(self, layout: Layout) -> int | None:
        """The first row with a wrong number of fields or an empty one where a name belongs."""
        wrong = layout.counts != self._width
        right = np.flatnonzero(~wrong)
        fields = layout.first[right, None] + np.asarray(self._columns)
        wrong[right] = (layout.starts[fields] == layout.ends[fields]).any(1)
        faults = np.flatnonzero(wrong)
        return int(faults[0]) if len(faults) else None

    def _describe(self, fields: list[bytes]) -> str:
        if self._dialect.quoted and any(unquote(f.decode("utf-8")) is None for f in fields):
            return _QUOTE_FAULT
        if len(fields) != self._width:
            kind = self._dialect.separated
            return f"expected {self._width} {kind} fields, found {len(fields)}"
        empty = [r for r, at in zip(ROLES, self._columns, strict=True) if not fields[at]]
        return f"the {empty[0]} is empty"

    def _unquoted(self, names: pa.Array, codes: Codes, block: bytes, layout: Layout) -> pa.Array:
        """Names without their quotes; DataError at the first row where that fails."""
        raw = names.to_pylist()
        plain = [unquote(name) for name in raw]
        bad = [code for code, name in enumerate(plain) if not name]
        if bad:
            row = int(np.flatnonzero(np.isin(codes, bad).any(1))[0])
            what = _QUOTE_FAULT
            if all(plain[code] is not None for code in codes[row]):
                order = np.argsort(np.argsort(self._columns))
                empty = next(i for i in range(3) if not plain[codes[row, order[i]]])
                what = f"the {ROLES[empty]} is empty"
            raise self._error(block, layout.position(row), what)
        return pa.array(plain, pa.large_string())

    def _error(self, block: bytes, position: int, what: str) -> DataError:
        line = self._lines + block.count(b"\n", 0, position) + 1
        return DataError(f"{self._name}:{line}: {what}")


def _blocks(stream: BinaryIO, name: str, dialect: Dialect) -> Iterator[bytes]:
    """The text in blocks that end where a row ends, without a byte-order mark."""
    rest = stream.read(BLOCK)
    if rest.startswith(_UTF16):
        raise DataError(f"{name}:1: invalid UTF-8 (this looks like UTF-16): convert it to UTF-8")
    rest = rest.removeprefix(_BOM)
    lines = 0
    while more := stream.read(BLOCK):
        cut = _last_row_end(rest, dialect)
        if cut == 0 and len(rest) > LONGEST_ROW:
            raise DataError(f"{name}:{lines + 1}: a row longer than {LONGEST_ROW >> 20} MiB")
        if cut:
            yield rest[:cut]
            lines += rest.count(b"\n", 0, cut)
        rest = rest[cut:] + more
    if rest:
        yield rest


def _last_row_end(block: bytes, dialect: Dialect) -> int:
    """Length of the part that ends with the last line end outside quotes; 0 without one."""
    if not dialect.quoted or b'"' not in block:
        return block.rfind(b"\n") + 1
    data: Array = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero((data == LF) & ~inside_quotes(data))
    return int(ends[-1]) + 1 if len(ends) else 0
