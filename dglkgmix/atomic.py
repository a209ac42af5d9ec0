"""Files that are whole or, whatever happens while they are written, as they were before."""

from __future__ import annotations

import csv
import errno
import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dglkgmix.errors import OVERWRITE, ConfigError, StorageError
from dglkgmix.paths import path_of

# A file's content, or a function that writes it to the path it is given.
Content = bytes | Callable[[Path], None]
TEMPORARY = ".dglkgmix-????????????????.tmp"
_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space, then try again",
    errno.EDQUOT: "the disk quota is used up: free some space, then try again",
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
    """Raise StorageError for an OSError: it names the file and says what to do."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        reason = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise StorageError(f"{path}: {reason}") from error


def text_lines(lines: Iterable[str]) -> Callable[[Path], None]:
    """The content of a text file, line by line, so that it is never in memory whole."""

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)

    return write


def csv_lines(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Rows as the lines of a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def write_atomic(path: Path, data: Content) -> None:
    """Write a file that is either whole or, whatever happens meanwhile, as it was before.

    Raises:
        StorageError: the disk is full, the folder is not writable or gone; nothing is left behind.
    """
    path = path_of(path)
    with replacing(path, data, path.parent):
        pass


def refuse_existing(paths: Iterable[Path], *, overwrite: bool) -> None:
    """Check files before they are written.

    Raises:
        ConfigError: for the first path that is there, unless it may be overwritten.
        StorageError: no file can have such a path.
    """
    for path in paths:
        with storage_errors(path):
            there = path.exists()
        if there and not overwrite:
            raise ConfigError(f"{path}: exists; choose another place, or pass {OVERWRITE}")


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where it does not exist.

    Raises:
        ConfigError: a file or a link to nothing is in its place, or in that of a folder above it.
        StorageError: the folder cannot be made.
    """
    with storage_errors(path):
        places = path, *path.absolute().parents
        found = next(place for place in places if os.path.lexists(place))
        if not found.is_dir():
            kind = "a file" if found.exists() else "a link to nothing"
            what = kind if found == path else f"{found} is {kind}"
            raise ConfigError(f"{path}: {what}, where a folder belongs; choose another path")
        path.mkdir(parents=True, exist_ok=True)


def write_folder(files: Mapping[Path, Content], *, overwrite: bool) -> list[Path]:
    """Write files of a folder, which is made where it does not exist; their paths.

    Raises:
        ConfigError: as :func:`refuse_existing` or :func:`make_folder`; nothing is written.
        StorageError: as :func:`make_folder` or :func:`write_atomic`.
    """
    refuse_existing(files, overwrite=overwrite)
    for path, data in files.items():
        make_folder(path.parent)
        write_atomic(path, data)
    return list(files)


@contextmanager
def replacing(path: Path, data: Content, folder: Path) -> Iterator[Path]:
    """The new content in a temporary file in ``folder``; after the block it is ``path``.

    Raises:
        StorageError: as :func:`write_atomic`.
    """
    temporary = folder / TEMPORARY.replace("?" * 16, secrets.token_hex(8))
    with storage_errors(path):
        try:
            if isinstance(data, bytes):
                temporary.write_bytes(data)
            else:
                data(temporary)
            sync(temporary)
            yield temporary
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync(path.parent)


def sync(path: Path) -> None:
    """Make a file's content, or the renames in a folder, last through a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
