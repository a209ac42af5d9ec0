"""A training's state as one safetensors file: tensors, and plain values in its header.

No pickle: whatever is neither a tensor nor a plain value is refused when it is written, and a
damaged file is an error when it is read.
"""

from __future__ import annotations

import io
import json
from typing import Any, BinaryIO

import torch
from torch import Tensor

from dglkgmix.errors import CheckpointError
from dglkgmix.training.tensor_file import TensorFile, read_tensors

_TENSOR = "$tensor"
_PAIRS = "$pairs"
# What comes of reading content that is no state, or a file that can no longer be read.
_WRONG = (ValueError, KeyError, TypeError, RecursionError, OSError)


def pack(state: dict[str, Any]) -> TensorFile:
    """``state``, nested dictionaries and lists of tensors and plain values, as file content.

    Tensors are not copied but read when the content is; tuples come back as lists.
    """
    packer = _Packer()
    plain = json.dumps(packer.flatten(state, ""))
    return TensorFile(packer.tensors, {"state": plain})


def unpack(data: bytes | BinaryIO, where: str = "state") -> dict[str, Any]:
    """The state that :func:`pack` wrote.

    Raises:
        CheckpointError: content that is no such state; the message starts with ``where``.
    """
    try:
        tensors, texts = read_tensors(_file(data))
        state: dict[str, Any] = _restore(json.loads(texts["state"]), tensors)
    except _WRONG as error:
        raise CheckpointError(f"{where}: no complete state: {error}") from None
    return state


def pack_weights(weights: dict[str, Tensor]) -> TensorFile:
    """A model's weights alone, readable by any safetensors reader."""
    return TensorFile(weights)


def unpack_weights(data: bytes | BinaryIO, where: str = "weights") -> dict[str, Tensor]:
    """The weights that :func:`pack_weights` wrote, on the CPU.

    Raises:
        CheckpointError: content that is no safetensors file.
    """
    try:
        return read_tensors(_file(data))[0]
    except _WRONG as error:
        raise CheckpointError(f"{where}: not a safetensors file: {error}") from None


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


def copy_weights(
    model: torch.nn.Module, place: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """A copy of a model's weights and statistics on the CPU that later training leaves alone.

    An older copy, where one is given, is overwritten: two take twice the memory.
    """
    weights = {key: value.detach() for key, value in model.state_dict().items()}
    if place is None:
        return {key: value.to("cpu", copy=True) for key, value in weights.items()}
    for key, value in weights.items():
        place[key].copy_(value)
    return place


class _Packer:
    """Replaces tensors in nested values by their names, and collects them."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def flatten(self, value: Any, path: str) -> Any:
        """``value`` as JSON takes it, its tensors collected under names from ``path``."""
        if isinstance(value, Tensor):
            self.tensors[path] = value
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


def _file(data: bytes | BinaryIO) -> BinaryIO:
    return io.BytesIO(data) if isinstance(data, bytes) else data
