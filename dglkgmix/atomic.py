"""Files that are whole or, whatever happens while they are written, as they were before."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dglkgmix.errors import StorageError
from dglkgmix.paths import path_of

# A file's content: whole, or in parts that can be asked for more than once.
Content = bytes | Iterable[bytes | memoryview]
TEMPORARY = re.compile(r"\.dglkgmix-[0-9a-f]{16}\.tmp")
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
def storage_errors(path: Path) -> Iterator[None]:
    """Makes of what the system says an error that names the file and what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        reason = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"{path}: {reason}") from error


def write_atomic(path: Path, data: Content) -> None:
    """Writes a file that is either whole or, whatever happens meanwhile, as it was before.

    Raises:
        StorageError: the disk is full, the folder is not writable or gone; nothing is left behind.
    """
    path = path_of(path)
    temporary = path.with_name(f".dglkgmix-{secrets.token_hex(8)}.tmp")
    with storage_errors(path):
        try:
            _write_synced(temporary, data)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def _write_synced(path: Path, data: Content) -> None:
    with path.open("xb") as file:
        for part in parts_of(data):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def parts_of(data: Content) -> Iterable[bytes | memoryview]:
    """The content part by part."""
    return (data,) if isinstance(data, bytes) else data


def sync_folder(path: Path) -> None:
    """Makes a rename last through a power cut, and keeps two renames in their order."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
