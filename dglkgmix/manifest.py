"""The seal of a run folder: which files it holds, and by which digests they are known.

An entry is a tuple of *states*: the digests that the file may have, ``ABSENT`` where it may not be
there. One state is the rule; two stand only while a write is under way, so that the folder is whole
at whatever moment the writer dies.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from dglkgmix.errors import CheckpointError

MANIFEST = "manifest.json"
LOCK = ".lock"
FORMAT = "dglkgmix-run-1"
ABSENT = "absent"
States = tuple[str, ...]


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return digest_of_parts((data,))


def digest_of_parts(parts: Iterable[bytes | memoryview]) -> str:
    """SHA-256 of what is there piece by piece."""
    seen = hashlib.sha256()
    for part in parts:
        seen.update(part)
    return seen.hexdigest()


def check_name(name: str) -> str:
    """``name`` itself, where it is a path inside a run folder and none of the folder's own files.

    Raises:
        CheckpointError: it is absolute, empty, climbs out or is reserved.
    """
    parts = name.split("/")
    inside = all(part not in ("", ".", "..") for part in parts) and "\0" not in name
    if not inside or PurePosixPath(name).is_absolute() or name in (MANIFEST, LOCK):
        raise CheckpointError(f"{name!r} cannot be the name of a file in a run folder")
    return name


@dataclass(frozen=True)
class Manifest:
    """File names and their states; a value, so a failed write leaves the old one in force."""

    files: Mapping[str, States] = field(default_factory=dict)

    def states(self, name: str) -> States:
        """What the file may be; ``(ABSENT,)`` for one that is not listed."""
        return self.files.get(name, (ABSENT,))

    def with_states(self, changes: Mapping[str, States]) -> Manifest:
        """A copy with other states; a file that can only be absent is listed no more."""
        files = {**self.files, **changes}
        return Manifest({name: s for name, s in files.items() if s != (ABSENT,)})

    def adding(self, changes: Mapping[str, str]) -> Manifest:
        """A copy in which each file may also be in one more state, once each."""
        return self.with_states(
            {name: tuple(dict.fromkeys((*self.states(name), new))) for name, new in changes.items()}
        )

    def to_bytes(self) -> bytes:
        """JSON that carries its own digest."""
        files = {name: list(self.files[name]) for name in sorted(self.files)}
        seal = digest(json.dumps(files).encode())
        return (
            json.dumps({"format": FORMAT, "files": files, "seal": seal}, indent=1) + "\n"
        ).encode()

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Manifest:
        """Reads what :meth:`to_bytes` wrote, and nothing that differs from it by a single byte.

        Raises:
            CheckpointError: the file is damaged, or another program's.
        """
        try:
            files = json.loads(data)["files"]
            manifest = cls({check_name(name): tuple(map(str, s)) for name, s in files.items()})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            manifest = None
        if manifest is None or manifest.to_bytes() != data:
            raise CheckpointError(
                f"{where}: damaged, or not the manifest of a run folder. Restore it from a copy, "
                "or remove the folder and train again"
            )
        return manifest
