"""Files that are whole or absent, and run folders made of them."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from dglkgmix.errors import CheckpointError, StorageError
from dglkgmix.manifest import ABSENT, LOCK, MANIFEST, Manifest, check_name, digest

_TEMPORARY = re.compile(r"\.dglkgmix-[0-9a-f]{16}\.tmp")
_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space, then go on from the last complete state",
    errno.EDQUOT: "the disk quota is used up: free some space, then go on from the last state",
    errno.EFBIG: "the file would be larger than this system allows",
    errno.EACCES: "not writable: check the permissions of the folder",
    errno.EPERM: "not writable: check the permissions of the folder",
    errno.EROFS: "not writable: the file system is read-only",
    errno.ENOENT: "the folder does not exist, or was removed meanwhile",
    errno.ENOTDIR: "a file stands where a folder belongs",
    errno.EISDIR: "a folder stands where a file belongs",
}


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        reason = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"{path}: {reason}") from error


def write_atomic(path: Path, data: bytes) -> None:
    """Writes a file that is either whole or, whatever happens meanwhile, as it was before.

    Raises:
        StorageError: the disk is full, the folder is not writable or gone; nothing is left behind.
    """
    path = Path(path)
    temporary = path.with_name(f".dglkgmix-{secrets.token_hex(8)}.tmp")
    with _storage_errors(path):
        try:
            _write_synced(temporary, data)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(path.parent)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Makes a rename last through a power cut, and keeps two renames in their order."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
        path = Path(path)
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
        path = Path(path)
        return cls(path, _read_manifest(path), None)

    @classmethod
    def resume(cls, path: str | Path) -> RunFolder:
        """An existing run folder, for reading and writing, locked.

        Raises:
            CheckpointError: as :meth:`open`, or the folder is in use by another training.
            StorageError: the folder is not writable.
        """
        path = Path(path)
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
        while True:
            data = self._bytes(check_name(name))
            state = ABSENT if data is None else digest(data)
            if data is not None and state in self._manifest.states(name):
                return data
            if not self._refresh():
                raise CheckpointError(f"{self.path / name}: {self._complaint(name, state)}")

    def write(self, name: str, data: bytes) -> None:
        """Replaces or adds a file.

        Raises:
            CheckpointError: the folder was opened for reading, or a foreign file has that name.
            StorageError: as :func:`write_atomic`; the run is as it was.
        """
        self._check_writable()
        target = self._file(check_name(name))
        self._check_own(name)
        state = digest(data)
        self._commit(self._manifest.adding({name: state}))
        with _storage_errors(target):
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
                _sync_folder(self.path)

    def _bytes(self, name: str) -> bytes | None:
        if name not in self._manifest.files:
            return None
        try:
            return self._file(name).read_bytes()
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
            f"--resume --out {shlex.quote(str(self.path))}`, a whole run with --overwrite"
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
            with _storage_errors(self._file(name)):
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
                if _TEMPORARY.fullmatch(file.name):
                    with _storage_errors(file):
                        file.unlink(missing_ok=True)


def _make_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path}: a file, where a folder for the run belongs")
    with _storage_errors(path):
        path.mkdir(parents=True, exist_ok=True)


def _check_empty(path: Path) -> None:
    with _storage_errors(path):
        holds = sorted(file.name for file in path.iterdir() if not _is_trace(file.name))
    if holds:
        raise CheckpointError(
            f"{path}: not empty (it holds {holds[0]!r}); choose another folder, or pass "
            "--overwrite to replace the run in it (files of others are kept)"
        )


def _is_trace(name: str) -> bool:
    """Whether the file is what a run leaves that was killed before its first file."""
    return name == LOCK or _TEMPORARY.fullmatch(name) is not None


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
    with _storage_errors(path / LOCK):
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
