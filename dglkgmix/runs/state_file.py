"""The one file that an interrupted training goes on from, and when it is written."""

from __future__ import annotations

import time
from typing import Any

import torch

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.runs import checkpoint, run_files

FORMAT = 1
# Largest share of the time that "auto" spends on writing states.
_SHARE = 0.05


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
        self._folder.write(run_files.STATE, checkpoint.pack(content))
        self._written = time.monotonic()
        self._cost = self._written - start

    def load(self) -> dict[str, Any] | None:
        """The last complete state, or None where none was written yet.

        Raises:
            CheckpointError: a damaged file, or one of another format.
        """
        if not self._folder.has(run_files.STATE):
            return None
        where = str(self._folder.path / run_files.STATE)
        state = checkpoint.unpack(self._folder.checked(run_files.STATE), where)
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
