"""The safetensors format, written and read a tensor at a time: a state is never there twice.

The package of that name makes a copy of all tensors, and then the file's content of the copies:
of a million entities that is 6 GiB for a state of 3. The format itself is eight bytes with the
header's length, the header in JSON, padded with spaces, and the tensors one after another.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import torch
from torch import Tensor

# In the order in which the package lays tensors out: the widest first, for alignment.
_TYPES = {
    "I64": torch.int64,
    "F64": torch.float64,
    "F32": torch.float32,
    "I32": torch.int32,
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_RANKS = {dtype: rank for rank, dtype in enumerate(_NAMES)}
_METADATA = "__metadata__"
_HEADER_LIMIT = 100 * 2**20
_ALIGNMENT = 8
# Numbers that a tensor cannot have, whatever its type, even where one of its sides is 0.
_LARGEST = 2**60


class TensorFile:
    """Tensors as the content of a safetensors file, to be iterated over, more than once too.

    They are read when it is: what changes meanwhile is written as it then is.

    Args:
        tensors: on any device, by name.
        metadata: texts for the header.

    Raises:
        TypeError: numbers of a kind that the format is not asked for here.
    """

    def __init__(
        self, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
    ) -> None:
        for name, tensor in tensors.items():
            if tensor.dtype not in _NAMES:
                raise TypeError(f"{name} holds {tensor.dtype}, which is not stored")
        order = sorted(tensors, key=lambda name: (_RANKS[tensors[name].dtype], name))
        self._tensors = {name: tensors[name].detach() for name in order}
        self._metadata = dict(metadata or {})

    def __iter__(self) -> Iterator[bytes | memoryview]:
        """The header, then the memory of each tensor itself where it is whole and on the CPU."""
        yield self._header()
        for tensor in self._tensors.values():
            yield _memory(tensor.cpu().contiguous())

    def __bytes__(self) -> bytes:
        """The whole content at once."""
        return b"".join(self)

    def _header(self) -> bytes:
        entries: dict[str, Any] = {_METADATA: self._metadata} if self._metadata else {}
        end = 0
        for name, tensor in self._tensors.items():
            start, end = end, end + tensor.numel() * tensor.element_size()
            dtype, shape = _NAMES[tensor.dtype], list(tensor.shape)
            entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
        text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % _ALIGNMENT)
        return struct.pack("<Q", len(text)) + text


def read_tensors(file: BinaryIO) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file, each in memory of its own, and the header's texts.

    Raises:
        ValueError: content that is not in this format, or cut short.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    (length,) = struct.unpack("<Q", _exactly(file, 8))
    if length > min(_HEADER_LIMIT, size - 8):
        raise ValueError(f"a header of {length} bytes")
    header = json.loads(_exactly(file, length))
    if not isinstance(header, dict):
        raise ValueError("a header that names no tensors")
    metadata = header.pop(_METADATA, {})
    entries = sorted(map(_Entry, header.items()), key=lambda entry: (entry.start, entry.end))
    _check_layout(entries, size - 8 - length)
    return {entry.name: entry.read(file) for entry in entries}, metadata


class _Entry:
    """What the header says of one tensor."""

    def __init__(self, item: tuple[str, Any]) -> None:
        self.name, said = item
        try:
            self.dtype, self.shape = _TYPES[said["dtype"]], list(said["shape"])
            self.start, self.end = said["data_offsets"]
            numbers = [*self.shape, self.start, self.end]
        except (KeyError, TypeError, ValueError):
            numbers = [-1]
        possible = all(type(number) is int and number >= 0 for number in numbers)
        if not possible or math.prod(number or 1 for number in self.shape) >= _LARGEST:
            raise ValueError(f"what is said of {self.name!r} is no tensor")

    def read(self, file: BinaryIO) -> Tensor:
        tensor = torch.empty(self.shape, dtype=self.dtype)
        memory, done = _memory(tensor), 0
        while done < len(memory):
            count = file.readinto(memory[done:])  # type: ignore[attr-defined]
            if not count:
                raise ValueError(f"it ends within {self.name!r}")
            done += count
        return tensor


def _check_layout(entries: list[_Entry], size: int) -> None:
    """Refuse tensors that do not lie one after another and fill the file; nothing is made yet."""
    end = 0
    for entry in entries:
        room = math.prod(entry.shape) * entry.dtype.itemsize
        if entry.start != end or entry.end - entry.start != room:
            raise ValueError(f"{entry.name!r} is not where its size puts it")
        end = entry.end
    if end != size:
        raise ValueError(f"{end} bytes of tensors, and {size} are there")


def _memory(tensor: Tensor) -> memoryview:
    """The bytes of a contiguous tensor on the CPU, not copied."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes where {size} belong")
    return data
