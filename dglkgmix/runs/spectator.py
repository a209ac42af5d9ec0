"""A run folder in a process that does not write it."""

from __future__ import annotations

from pathlib import Path

from dglkgmix.atomic import Content
from dglkgmix.files import RunFolder
from dglkgmix.paths import path_of


class Spectator(RunFolder):
    """Reads what another process writes; its own writes and removals do nothing.

    Made by :meth:`begin` for a run that another process is making, and by :meth:`open` for one
    that is there.
    """

    @classmethod
    def begin(cls, path: str | Path) -> Spectator:
        """Of a new run: nothing that lies in the folder now is a part of it."""
        return cls(path_of(path), {}, None)

    def write(self, name: str, data: Content) -> None:
        """Nothing."""

    def remove(self, name: str) -> None:
        """Nothing."""
