"""A training's state as one safetensors file, tensors and plain values, and when it is written.

No pickle: whatever is neither a tensor nor a plain value is refused when it is written, and a
damaged file is an error when it is read.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder

STATE = "last/state.safetensors"
FORMAT = 1
# Largest share of the time that "auto" spends on writing states.
_SHARE = 0.05
_TENSOR = "$tensor"
_PAIRS = "$pairs"
# What comes of reading content that is no state, or a file that can no longer be read.
_WRONG = (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError)


def pack(state: dict[str, Any]) -> Callable[[Path], None]:
    """A function that writes ``state``, nested dictionaries and lists of tensors and plain values.

    Tensors on the CPU are not copied but read when the file is written; tuples come back as lists.
    """
    tensors: dict[str, Tensor] = {}
    plain = json.dumps(_flattened(state, "", tensors))
    return lambda path: _save(tensors, path, {"state": plain})


def unpack(path: Path, where: str = "state") -> dict[str, Any]:
    """The state that :func:`pack` wrote.

    Raises:
        CheckpointError: content that is no such state; the message starts with ``where``.
    """
    try:
        with path.open("rb") as opened, safetensors.safe_open(_utf8(opened), "pt") as file:
            # In memory of their own: those of the file may not be aligned as new ones are.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            plain = (file.metadata() or {})["state"]
        state: dict[str, Any] = _restore(json.loads(plain), tensors)
    except _WRONG as error:
        raise CheckpointError(f"{where}: no complete state: {error}") from None
    return state


def _utf8(opened: BinaryIO) -> str:
    """A path of an open file for safetensors, which opens none that is not UTF-8."""
    return f"/proc/self/fd/{opened.fileno()}"


def pack_weights(weights: dict[str, Tensor]) -> Callable[[Path], None]:
    """A function that writes a model's weights alone, readable by any safetensors reader."""
    return lambda path: _save(weights, path)


def unpack_weights(source: bytes | Path, where: str = "weights") -> dict[str, Tensor]:
    """The weights that :func:`pack_weights` wrote, on the CPU, from a file or its content.

    Raises:
        CheckpointError: content that is no safetensors file.
    """
    try:
        if isinstance(source, bytes):
            return safetensors.torch.load(source)
        with source.open("rb") as opened:
            weights = safetensors.torch.load_file(_utf8(opened))
            return {name: tensor.clone() for name, tensor in weights.items()}
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
        what = " ".join(str(error).splitlines()[1:3]).strip()
        raise CheckpointError(f"{where} does not fit the model: {what}") from None


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


def _save(tensors: dict[str, Tensor], path: Path, texts: dict[str, str] | None = None) -> None:
    """Write tensors, each on its own, also those that share memory; OSError as the system says."""
    seen: set[int] = set()
    own = {}
    for name, tensor in tensors.items():
        own[name] = tensor.detach().cpu().contiguous()
        place = own[name].untyped_storage().data_ptr()
        if place in seen:
            own[name] = own[name].clone()
        seen.add(place)
    try:
        safetensors.torch.save_file(own, path, metadata=texts)
    except safetensors.SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def _flattened(value: Any, path: str, tensors: dict[str, Tensor]) -> Any:
    """``value`` as JSON takes it; its tensors go into ``tensors`` under names from ``path``."""
    if isinstance(value, Tensor):
        tensors[path] = value
        return {_TENSOR: path}
    if isinstance(value, dict):
        items = [(key, _flattened(x, f"{path}/{key}", tensors)) for key, x in value.items()]
        return dict(items) if all(isinstance(key, str) for key in value) else {_PAIRS: items}
    if isinstance(value, list | tuple):
        return [_flattened(x, f"{path}/{i}", tensors) for i, x in enumerate(value)]
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


class StateFile:
    """Reads and writes ``last/state.safetensors`` of a run folder.

    Args:
        every: epochs between states, or "auto": as often as keeps writing below a twentieth of
            the time.
    """

    def __init__(self, folder: RunFolder, every: int | str) -> None:
        self._folder, self._every = folder, every
        self._written = self._cost = 0.0

    def is_due(self, epoch: int) -> bool:
        """Whether the state after ``epoch`` is to be written."""
        if isinstance(self._every, int):
            return epoch % self._every == 0
        return time.monotonic() - self._written >= self._cost / _SHARE

    def save(self, state: dict[str, Any], device: torch.device) -> None:
        """Write ``state``, with PyTorch's global generators, as a whole or not at all."""
        start = time.monotonic()
        random = {"cpu": torch.get_rng_state()}
        if device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(device)
        content = {"format": FORMAT, "random": random, **state}
        self._folder.write(STATE, pack(content))
        self._written = time.monotonic()
        self._cost = self._written - start

    def load(self) -> dict[str, Any] | None:
        """The last complete state, or None where none was written yet.

        Raises:
            CheckpointError: a damaged file, or one of another format.
        """
        if not self._folder.has(STATE):
            return None
        where = str(self._folder.path / STATE)
        state = unpack(self._folder.checked(STATE), where)
        if state.get("format") != FORMAT:
            raise CheckpointError(
                f"{where}: format {state.get('format')}, this version reads {FORMAT}"
            )
        return state


def restore_random(state: dict[str, Any], device: torch.device) -> None:
    """Set PyTorch's global generators as they were when ``state`` was saved."""
    torch.set_rng_state(state["random"]["cpu"])
    if device.type == "cuda" and "cuda" in state["random"]:
        torch.cuda.set_rng_state(state["random"]["cuda"], device)
