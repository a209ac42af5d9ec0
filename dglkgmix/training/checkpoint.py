"""A training's state as one safetensors file: tensors, and plain values in its header.

No pickle: whatever is neither a tensor nor a plain value is refused when it is written, and a
damaged file is an error when it is read.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from dglkgmix.errors import CheckpointError

_TENSOR = "$tensor"
_PAIRS = "$pairs"
_HEADER_LIMIT = 100 * 2**20


def pack(state: dict[str, Any]) -> bytes:
    """``state``, nested dictionaries and lists of tensors and plain values, as file content.

    Tensors are stored on the CPU; tuples come back as lists.
    """
    packer = _Packer()
    plain = json.dumps(packer.flatten(state, ""))
    return safetensors.torch.save(packer.tensors, metadata={"state": plain})


def unpack(data: bytes, where: str = "state") -> dict[str, Any]:
    """The state that :func:`pack` wrote.

    Raises:
        CheckpointError: content that is no such state; the message starts with ``where``.
    """
    try:
        tensors = safetensors.torch.load(data)
        plain = json.loads(_metadata(data)["state"])
        state: dict[str, Any] = _restore(plain, tensors)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, struct.error) as error:
        raise CheckpointError(f"{where}: no complete state: {error}") from None
    return state


def pack_weights(weights: dict[str, Tensor]) -> bytes:
    """A model's weights alone, readable by any safetensors reader."""
    return safetensors.torch.save({key: _plain(value) for key, value in weights.items()})


def unpack_weights(data: bytes, where: str = "weights") -> dict[str, Tensor]:
    """The weights that :func:`pack_weights` wrote, on the CPU.

    Raises:
        CheckpointError: content that is no safetensors file.
    """
    try:
        weights: dict[str, Tensor] = safetensors.torch.load(data)
    except (safetensors.SafetensorError, ValueError) as error:
        raise CheckpointError(f"{where}: not a safetensors file: {error}") from None
    return weights


def load_weights(model: torch.nn.Module, weights: dict[str, Tensor], where: str) -> None:
    """Put ``weights`` into ``model``.

    Raises:
        CheckpointError: names or shapes that the model does not have.
    """
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        lines = str(error).splitlines()
        raise CheckpointError(
            f"{where} does not fit the model: {' '.join(lines[1:3]).strip()}"
        ) from None


def copy_weights(model: torch.nn.Module) -> dict[str, Tensor]:
    """A copy of a model's weights and statistics on the CPU that later training leaves alone."""
    return {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}


class _Packer:
    """Replaces tensors in nested values by their names, and collects them."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._memory: set[int] = set()

    def flatten(self, value: Any, path: str) -> Any:
        """``value`` as JSON takes it, its tensors collected under names from ``path``."""
        if isinstance(value, Tensor):
            self.tensors[path] = self._unshared(value)
            return {_TENSOR: path}
        if isinstance(value, dict):
            items = [(key, self.flatten(x, f"{path}/{key}")) for key, x in value.items()]
            return dict(items) if all(isinstance(key, str) for key in value) else {_PAIRS: items}
        if isinstance(value, list | tuple):
            return [self.flatten(x, f"{path}/{i}") for i, x in enumerate(value)]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        kind = type(value).__name__
        raise TypeError(f"a state holds tensors and plain values, not {kind} at {path}")

    def _unshared(self, value: Tensor) -> Tensor:
        """``value`` with memory of its own: the format stores no two names for one."""
        plain = _plain(value)
        if plain.untyped_storage().data_ptr() in self._memory:
            plain = plain.clone()
        self._memory.add(plain.untyped_storage().data_ptr())
        return plain


def _restore(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, list):
        return [_restore(x, tensors) for x in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        return tensors[value[_TENSOR]]
    if _PAIRS in value:
        return {key: _restore(x, tensors) for key, x in value[_PAIRS]}
    return {key: _restore(x, tensors) for key, x in value.items()}


def _plain(value: Tensor) -> Tensor:
    return value.detach().cpu().contiguous()


def _metadata(data: bytes) -> dict[str, str]:
    """The header's text values, which safetensors' own reader of bytes keeps to itself."""
    (length,) = struct.unpack("<Q", data[:8])
    if length > _HEADER_LIMIT:
        raise ValueError(f"a header of {length} bytes")
    header: dict[str, dict[str, str]] = json.loads(data[8 : 8 + length])
    return header["__metadata__"]
