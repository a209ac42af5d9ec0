"""A finished run held in memory, so that an estimator can be pickled and outlive its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.runs import run_files
from dglkgmix.runs.run import Run

INPUT = "input.json"


class PackedFolder:
    """The files of a run folder as bytes, read by the same calls."""

    def __init__(self, path: Path, files: dict[str, bytes]) -> None:
        self.path, self.files = path, files

    def has(self, name: str) -> bool:
        """Whether the file is there."""
        return name in self.files

    def read(self, name: str) -> bytes:
        """A file's content.

        Raises:
            CheckpointError: the run has no such file.
        """
        if name not in self.files:
            raise CheckpointError(f"{self.path / name}: not part of this run")
        return self.files[name]

    checked = read


class PackedRun(Run):
    """A :class:`Run` whose folder is held in memory; its path is where it was trained."""

    folder: PackedFolder  # type: ignore[assignment]

    @classmethod
    def pack(cls, path: str | Path, *, trust: bool = False) -> PackedRun:
        """The finished run in the folder ``path``; ``trust`` as for :meth:`Run.open`.

        Raises:
            CheckpointError: no run, a damaged one, or one that has not finished.
        """
        with RunFolder.open(path) as folder:
            # All but the state, which only resuming needs.
            names = [name for name in folder.names if name != run_files.STATE]
            files = {name: folder.read(name) for name in names}
            run = cls(PackedFolder(folder.path, files))  # type: ignore[arg-type]
        run.trust = trust
        _ = run.metrics  # An unfinished run says so now.
        return run

    @property
    def input_kinds(self) -> dict[str, Any]:
        """What the estimator was fitted on; a run of the command line has names in three columns.

        "entities" and "relations" are "strings" or "integers", "features" is the names of X's
        columns or their number.
        """
        if not self.folder.has(INPUT):
            return {"entities": "strings", "relations": "strings", "features": 3}
        kinds: dict[str, Any] = json.loads(self.folder.read(INPUT))
        return kinds

    @input_kinds.setter
    def input_kinds(self, kinds: dict[str, Any]) -> None:
        self.folder.files[INPUT] = json.dumps(kinds).encode()

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Lay the run down as a folder that the command line reads.

        Raises:
            CheckpointError: the folder holds something and ``overwrite`` is not set.
            StorageError: it cannot be written.
        """
        files = self.folder.files
        with RunFolder.create(path, overwrite=overwrite, names=files) as folder:
            for name, data in files.items():
                folder.write(name, data)

    def __getstate__(self) -> dict[str, object]:
        # What unpickles it runs code anyway.
        return {"folder": self.folder, "device": self.device, "trust": True}
