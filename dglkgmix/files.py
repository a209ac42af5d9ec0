"""Run folders: files that are whole or absent, listed with their digests in ``manifest.json``.

The manifest maps a file's name to the states that it may be in, SHA-256 digests or ``"absent"``.
There is one state but for a moment: a write lists the old and the new state, renames the file into
place, then lists the new one alone. Whenever the writer is killed, each file is in a listed state.
Files that the manifest does not list are foreign: they are not read, replaced or removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from dglkgmix.atomic import (
    TEMPORARY,
    Content,
    make_folder,
    replacing,
    storage_errors,
    sync,
    write_atomic,
)
from dglkgmix.errors import OVERWRITE, CheckpointError
from dglkgmix.paths import path_of

MANIFEST, LOCK = "manifest.json", ".lock"
FORMAT, ABSENT = "dglkgmix-run-1", "absent"
States = tuple[str, ...]
# Bytes of a file that are read at a time for its digest.
_PIECE = 2**20


class RunFolder:
    """A folder whose files are whole or absent.

    Made by :meth:`create`, :meth:`resume` (both lock the folder until :meth:`close`) or
    :meth:`open` (reading only, beside a writer too).
    """

    def __init__(self, path: Path, files: Mapping[str, States], lock: int | None) -> None:
        self.path, self._files, self._lock = path, dict(files), lock

    @classmethod
    def create(
        cls, path: str | Path, *, overwrite: bool = False, names: Iterable[str] = ()
    ) -> RunFolder:
        """An empty run folder, locked.

        Args:
            path: the folder; made where it does not exist.
            overwrite: an existing run folder is emptied of its own files; foreign ones stay.
            names: files that will be written: a foreign file of such a name is refused now.

        Raises:
            CheckpointError: the folder holds something and ``overwrite`` is not set, is in use, or
                a foreign file is in the way.
            ConfigError: a file is in the folder's place, or above it.
            StorageError: the folder cannot be made or written.
        """
        path = path_of(path)
        make_folder(path)
        if not overwrite and not (path / LOCK).exists():
            _check_empty(path)  # Before a lock file is put into a folder of others.
        folder = cls(path, {}, lock_folder(path, "training"))
        try:
            if not overwrite:
                _check_empty(path)
            folder._start(names)
        except BaseException:
            folder.close()
            raise
        return folder

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """An existing run folder, for reading.

        Raises:
            CheckpointError: there is none, or its manifest is missing or damaged.
        """
        path = path_of(path)
        return cls(path, read_manifest(path), None)

    @classmethod
    def resume(cls, path: str | Path) -> RunFolder:
        """An existing run folder, for reading and writing, locked.

        Raises:
            CheckpointError: as :meth:`open`, or the folder is in use by another training.
            StorageError: the folder is not writable.
        """
        folder = cls.open(path)
        folder._lock = lock_folder(folder.path, "training")
        try:
            folder._files = read_manifest(folder.path)
            folder._sweep()
        except BaseException:
            folder.close()
            raise
        return folder

    @property
    def names(self) -> list[str]:
        """The files that are there, in alphabetical order."""
        return [name for name in sorted(self._files) if self.has(name)]

    def has(self, name: str) -> bool:
        """Whether the run holds the file; true for one that was lost: reading it says so."""
        states = self._states(check_name(name))
        return ABSENT not in states or (name in self._files and self._file(name).exists())

    def read(self, name: str) -> bytes:
        """The file's content, checked against its digest.

        Raises:
            CheckpointError: names the file that is not part of the run, missing, or changed.
        """
        with self._opened(name) as file:
            return file.read()

    def checked(self, name: str) -> Path:
        """The path of a file, whose content was checked piece by piece.

        Raises:
            CheckpointError: as :meth:`read`.
        """
        self._opened(name).close()
        return self.path / name

    def write(self, name: str, data: Content) -> None:
        """Replaces or adds a file.

        Raises:
            CheckpointError: the folder was opened for reading, or a foreign file has that name.
            StorageError: as :func:`write_atomic`; the run is as it was.
        """
        self._check_writable()
        target = self._file(check_name(name))
        self._check_own(name)
        with storage_errors(target):
            # The run's own folder is not made again once it was removed.
            for parent in reversed(PurePosixPath(name).parents[:-1]):
                if not (self.path / parent).is_dir():
                    (self.path / parent).mkdir()
                    sync(self.path)
        with replacing(target, data, self.path) as temporary:
            with temporary.open("rb") as file:
                state = _digest_of(file)
            self._commit({name: tuple(dict.fromkeys((*self._states(name), state)))})
        self._commit({name: (state,)})

    def remove(self, name: str) -> None:
        """Removes a file of the run; one that is not there is none to remove.

        Raises:
            CheckpointError: the folder was opened for reading.
            StorageError: the file cannot be removed.
        """
        self._check_writable()
        self._remove([check_name(name)])

    def close(self) -> None:
        """Releases the lock; reading goes on working."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r}, {len(self._files)} files)"

    def _states(self, name: str) -> States:
        return self._files.get(name, (ABSENT,))

    def _file(self, name: str) -> Path:
        """The file's path; links to folders elsewhere are not followed."""
        for parent in PurePosixPath(name).parents[:-1]:
            if (self.path / parent).is_symlink():
                raise CheckpointError(
                    f"{self.path / parent}: a link, where the run's own folder belongs"
                )
        return self.path / name

    def _opened(self, name: str) -> BinaryIO:
        """The file, open at its start, if it has a digest that the manifest lists."""
        path = self._file(check_name(name))
        while True:
            state = ABSENT
            with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                if name in self._files:
                    file, state = _open_with_digest(path)
                    if state in self._states(name):
                        return file
                    file.close()
            # A writer may have changed the manifest since it was read.
            fresh = self._files if self._lock is not None else read_manifest(self.path)
            if fresh == self._files:
                raise CheckpointError(f"{path}: {self._complaint(name, state)}")
            self._files = fresh

    def _complaint(self, name: str, state: str) -> str:
        if ABSENT in self._states(name) and state == ABSENT:
            return "not part of this run; was its training cut short?"
        what = "missing from the run folder"
        if state != ABSENT:
            what = "damaged: its content is not what the manifest lists"
        return (
            f"{what}. Restore it from a copy, or make it anew: results with `dglkgmix train "
            f"--resume --out {shlex.quote(str(self.path))}`, a whole run with {OVERWRITE}"
        )

    def _check_writable(self) -> None:
        if self._lock is None:
            raise CheckpointError(f"{self.path}: opened for reading, not for writing")

    def _check_own(self, name: str) -> None:
        if name not in self._files and os.path.lexists(self._file(name)):
            raise CheckpointError(
                f"{self.path / name}: not a file of this run, and in its way; move it elsewhere"
            )

    def _commit(self, changes: Mapping[str, States]) -> None:
        """Change states in the manifest; a file that can only be absent is listed no more."""
        files = {n: s for n, s in {**self._files, **changes}.items() if s != (ABSENT,)}
        if files != self._files:
            write_atomic(self.path / MANIFEST, manifest_bytes(files))
            self._files = files

    def _remove(self, names: Iterable[str]) -> None:
        listed = [name for name in names if name in self._files]
        self._commit({n: tuple(dict.fromkeys((*self._files[n], ABSENT))) for n in listed})
        for name in listed:
            with storage_errors(self._file(name)):
                self._file(name).unlink(missing_ok=True)
        self._commit(dict.fromkeys(listed, (ABSENT,)))

    def _start(self, names: Iterable[str]) -> None:
        """Empty the folder of the files of an earlier run, and mark it as a run's."""
        if os.path.lexists(self.path / MANIFEST):
            try:
                self._files = read_manifest(self.path)
            except CheckpointError as error:
                raise CheckpointError(
                    f"{error}; so it is unknown which files are the run's: remove the folder "
                    "yourself"
                ) from error
        for name in names:
            self._check_own(check_name(name))
        self._sweep()
        folders = {self._file(name).parent for name in self._files} - {self.path}
        self._remove(list(self._files))
        for folder in folders:
            with suppress(OSError):  # A foreign file is in it, or it is not there.
                folder.rmdir()
        write_atomic(self.path / MANIFEST, manifest_bytes(self._files))

    def _sweep(self) -> None:
        """Removes what a killed writer left half-written."""
        for file in [*self.path.glob(TEMPORARY), *self.path.glob(f"*/{TEMPORARY}")]:
            with storage_errors(file):
                file.unlink(missing_ok=True)


def check_name(name: str) -> str:
    """``name`` itself, where it is a path inside a run folder and none of the folder's own files.

    Raises:
        CheckpointError: it is absolute, empty, climbs out or is reserved.
    """
    inside = all(part not in ("", ".", "..") for part in name.split("/")) and "\0" not in name
    if not inside or name in (MANIFEST, LOCK):
        raise CheckpointError(f"{name!r} cannot be the name of a file in a run folder")
    return name


def digest(*parts: bytes) -> str:
    """SHA-256 in hexadecimal digits of parts one after another."""
    return hashlib.sha256(b"".join(parts)).hexdigest()


def manifest_bytes(files: Mapping[str, States]) -> bytes:
    """The manifest as JSON that carries its own digest."""
    listed = {name: list(files[name]) for name in sorted(files)}
    seal = digest(json.dumps(listed).encode())
    return (json.dumps({"format": FORMAT, "files": listed, "seal": seal}, indent=1) + "\n").encode()


def read_manifest(path: Path) -> dict[str, States]:
    """The states of a run folder's files, if its manifest is to the byte as it was written.

    Raises:
        CheckpointError: no folder, or no such manifest in it.
    """
    if not path.is_dir():
        what = "a file, not a run folder" if path.exists() else "no such run folder"
        raise CheckpointError(f"{path}: {what}")
    where = path / MANIFEST
    try:
        data = where.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(
            f"{where}: missing; {path} is not a run folder. Check the path, or restore the file "
            "from a copy"
        ) from None
    except OSError as error:
        raise CheckpointError(
            f"{where}: cannot be read: {error.strerror}. Restore it from a copy, or make it "
            "readable"
        ) from error
    try:
        listed = json.loads(data)["files"]
        files = {check_name(name): tuple(map(str, states)) for name, states in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        files = None
    if files is None or manifest_bytes(files) != data:
        raise CheckpointError(
            f"{where}: damaged, or not the manifest of a run folder. Restore it from a copy, or "
            "remove the folder and train again"
        )
    return files


def lock_folder(path: Path, user: str) -> int:
    """Takes the folder's lock, which ends with the process, however that ends.

    Raises:
        CheckpointError: another ``user``, "training" or "experiment", has it.
        StorageError: the lock file cannot be made.
    """
    with storage_errors(path / LOCK):
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                raise CheckpointError(f"{path}: in use by another {user}") from None
            raise
    return descriptor


def _check_empty(path: Path) -> None:
    """Refuse a folder that holds more than a run leaves that was killed at its start."""
    begun = ", pass --resume to go on with the run in it" if (path / MANIFEST).exists() else ""
    advice = (
        f"; choose another folder{begun}, or pass {OVERWRITE} to replace the run in it (files "
        "of others are kept)"
    )
    refuse_others(path, (LOCK, TEMPORARY), advice)


def refuse_others(path: Path, own: Iterable[str], advice: str) -> None:
    """Refuse a folder that holds more than files of the names or patterns ``own``.

    Raises:
        CheckpointError: names one, and ends with ``advice``.
    """
    with storage_errors(path):
        ours = {file for pattern in own for file in path.glob(pattern)}
        holds = sorted(file.name for file in path.iterdir() if file not in ours)
    if holds:
        raise CheckpointError(f"{path}: not empty (it holds {holds[0]!r}){advice}")


def _open_with_digest(path: Path) -> tuple[BinaryIO, str]:
    try:
        file = path.open("rb")
        state = _digest_of(file)
        file.seek(0)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    return file, state


def _digest_of(file: BinaryIO) -> str:
    seen = hashlib.sha256()
    while piece := file.read(_PIECE):
        seen.update(piece)
    return seen.hexdigest()
