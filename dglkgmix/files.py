"""Run folders: files that are whole or absent, sealed by a manifest."""

from __future__ import annotations

import fcntl
import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TypeVar

from dglkgmix.atomic import (
    TEMPORARY,
    Content,
    parts_of,
    storage_errors,
    sync_folder,
    write_atomic,
)
from dglkgmix.errors import OVERWRITE, CheckpointError
from dglkgmix.manifest import ABSENT, LOCK, MANIFEST, Manifest, check_name, digest, digest_of_parts
from dglkgmix.paths import path_of

__all__ = ["RunFolder", "write_atomic"]

_T = TypeVar("_T")
# Bytes that are looked at together where a file is not read as a whole.
_PIECE = 2**20


class RunFolder:
    """A folder whose files are whole or absent, sealed by ``manifest.json``.

    Every write first lists the old *and* the new digest, then renames the file into place, then
    lists the new digest alone: at each moment every file is one that the manifest allows. Files
    that the manifest does not list are foreign and are neither read, replaced nor removed.

    Made by :meth:`create`, :meth:`resume` (both lock the folder until :meth:`close`) or
    :meth:`open` (reading only, beside a writer too).
    """

    def __init__(self, path: Path, manifest: Manifest, lock: int | None) -> None:
        self.path = path
        self._manifest = manifest
        self._lock = lock

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
            CheckpointError: the folder holds something and ``overwrite`` is not set, is in use, is
                a file, or a foreign file is in the way.
            StorageError: the folder cannot be made or written.
        """
        path = path_of(path)
        _make_folder(path)
        if not overwrite and not (path / LOCK).exists():
            _check_empty(path)  # Before the lock file is laid into somebody else's folder.
        lock = _acquire(path)
        try:
            folder = cls(path, _start(path, overwrite), lock)
            folder._empty(names)
        except BaseException:
            os.close(lock)
            raise
        return folder

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """An existing run folder, for reading.

        Raises:
            CheckpointError: there is none, or its manifest is missing or damaged.
        """
        path = path_of(path)
        return cls(path, _read_manifest(path), None)

    @classmethod
    def resume(cls, path: str | Path) -> RunFolder:
        """An existing run folder, for reading and writing, locked.

        Raises:
            CheckpointError: as :meth:`open`, or the folder is in use by another training.
            StorageError: the folder is not writable.
        """
        path = path_of(path)
        _read_manifest(path)
        lock = _acquire(path)
        try:
            folder = cls(path, _read_manifest(path), lock)
            folder._sweep()
        except BaseException:
            os.close(lock)
            raise
        return folder

    @property
    def names(self) -> list[str]:
        """The files that are there, in alphabetical order."""
        return [name for name in sorted(self._manifest.files) if self.has(name)]

    def has(self, name: str) -> bool:
        """Whether the run holds the file; true for one that was lost: reading it says so."""
        states = self._manifest.states(check_name(name))
        return ABSENT not in states or (name in self._manifest.files and self._file(name).exists())

    def read(self, name: str) -> bytes:
        """The file's content, checked against its digest.

        Raises:
            CheckpointError: names the file that is not part of the run, missing, or changed.
        """
        return self._checked(name, _read)

    @contextmanager
    def reading(self, name: str) -> Iterator[BinaryIO]:
        """The file, open at its start, after its content was checked piece by piece.

        Raises:
            CheckpointError: as :meth:`read`.
        """
        with ExitStack() as opened:
            yield self._checked(name, lambda path: _open(path, opened))

    def write(self, name: str, data: Content) -> None:
        """Replaces or adds a file.

        Content in parts is gone through twice, for its digest and to be written, and never held.

        Raises:
            CheckpointError: the folder was opened for reading, or a foreign file has that name.
            StorageError: as :func:`write_atomic`; the run is as it was.
        """
        self._check_writable()
        target = self._file(check_name(name))
        self._check_own(name)
        state = digest_of_parts(parts_of(data))
        self._commit(self._manifest.adding({name: state}))
        with storage_errors(target):
            self._make_parents(target)
        write_atomic(target, data)
        self._commit(self._manifest.with_states({name: (state,)}))

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r}, {len(self._manifest.files)} files)"

    def _file(self, name: str) -> Path:
        """The file's path; links to folders elsewhere are not followed."""
        target = self.path / name
        for folder in target.parents:
            if folder == self.path:
                return target
            if folder.is_symlink():
                raise CheckpointError(f"{folder}: a link, where the run's own folder belongs")
        raise CheckpointError(f"{target}: outside the run folder")

    def _make_parents(self, target: Path) -> None:
        """Folders inside the run's own, which itself is not made anew once it was removed."""
        for folder in reversed(target.relative_to(self.path).parents[:-1]):
            if not (self.path / folder).is_dir():
                (self.path / folder).mkdir()
                sync_folder(self.path)

    def _checked(self, name: str, get: Callable[[Path], tuple[_T, str]]) -> _T:
        """What ``get`` finds, once it has the digest that the manifest lists."""
        while True:
            found, state = self._found(check_name(name), get) or (None, ABSENT)
            if found is not None and state in self._manifest.states(name):
                return found
            if not self._refresh():
                raise CheckpointError(f"{self.path / name}: {self._complaint(name, state)}")

    def _found(self, name: str, get: Callable[[Path], tuple[_T, str]]) -> tuple[_T, str] | None:
        if name not in self._manifest.files:
            return None
        try:
            return get(self._file(name))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise CheckpointError(
                f"{self.path / name}: cannot be read: {error.strerror}"
            ) from error

    def _refresh(self) -> bool:
        """Whether a writer has changed the manifest since it was read."""
        fresh = self._manifest if self._lock is not None else _read_manifest(self.path)
        changed = fresh != self._manifest
        self._manifest = fresh
        return changed

    def _complaint(self, name: str, state: str) -> str:
        if ABSENT in self._manifest.states(name) and state == ABSENT:
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
        if name not in self._manifest.files and os.path.lexists(self._file(name)):
            raise CheckpointError(
                f"{self.path / name}: not a file of this run, and in its way; move it elsewhere"
            )

    def _commit(self, manifest: Manifest) -> None:
        if manifest != self._manifest:
            write_atomic(self.path / MANIFEST, manifest.to_bytes())
            self._manifest = manifest

    def _remove(self, names: Iterable[str]) -> None:
        listed = [name for name in names if name in self._manifest.files]
        self._commit(self._manifest.adding(dict.fromkeys(listed, ABSENT)))
        for name in listed:
            with storage_errors(self._file(name)):
                self._file(name).unlink(missing_ok=True)
        self._commit(self._manifest.with_states(dict.fromkeys(listed, (ABSENT,))))

    def _empty(self, names: Iterable[str]) -> None:
        for name in names:
            self._check_own(check_name(name))
        self._sweep()
        folders = {self._file(name).parent for name in self._manifest.files} - {self.path}
        self._remove(list(self._manifest.files))
        for folder in folders:
            with suppress(OSError):  # A foreign file is in it, or it is not there.
                folder.rmdir()
        write_atomic(self.path / MANIFEST, self._manifest.to_bytes())

    def _sweep(self) -> None:
        """Removes what a killed writer left half-written."""
        folders = {self._file(name).parent for name in self._manifest.files} | {self.path}
        for folder in folders:
            for file in folder.glob(".dglkgmix-*.tmp"):
                if TEMPORARY.fullmatch(file.name):
                    with storage_errors(file):
                        file.unlink(missing_ok=True)


def _read(path: Path) -> tuple[bytes, str]:
    data = path.read_bytes()
    return data, digest(data)


def _open(path: Path, opened: ExitStack) -> tuple[BinaryIO, str]:
    file = opened.enter_context(path.open("rb"))
    state = digest_of_parts(iter(lambda: file.read(_PIECE), b""))
    file.seek(0)
    return file, state


def _make_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path}: a file, where a folder for the run belongs")
    with storage_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def _check_empty(path: Path) -> None:
    with storage_errors(path):
        holds = sorted(file.name for file in path.iterdir() if not _is_trace(file.name))
    if holds:
        raise CheckpointError(
            f"{path}: not empty (it holds {holds[0]!r}); choose another folder, or pass "
            f"{OVERWRITE} to replace the run in it (files of others are kept)"
        )


def _is_trace(name: str) -> bool:
    """Whether the file is what a run leaves that was killed before its first file."""
    return name == LOCK or TEMPORARY.fullmatch(name) is not None


def _start(path: Path, overwrite: bool) -> Manifest:
    """What a new run finds: nothing, or the files of the run that it replaces."""
    if not overwrite:
        _check_empty(path)
    if not os.path.lexists(path / MANIFEST):
        return Manifest()
    try:
        return _read_manifest(path)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error}; so it is unknown which files are the run's: remove the folder yourself"
        ) from error


def _read_manifest(path: Path) -> Manifest:
    if not path.is_dir():
        what = "a file, not a run folder" if path.exists() else "no such run folder"
        raise CheckpointError(f"{path}: {what}")
    try:
        data = (path / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise CheckpointError(
            f"{path / MANIFEST}: missing; {path} is not a run folder. Check the path, or restore "
            "the file from a copy"
        ) from None
    except OSError as error:
        raise CheckpointError(
            f"{path / MANIFEST}: cannot be read: {error.strerror}. Restore it from a copy, or make "
            "it readable"
        ) from error
    return Manifest.from_bytes(data, str(path / MANIFEST))


def _acquire(path: Path) -> int:
    """Takes the folder's lock, which ends with the process, however that ends."""
    with storage_errors(path / LOCK):
        descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise CheckpointError(f"{path}: in use by another training") from None
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor
