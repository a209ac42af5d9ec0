"""Data sets by name: facts, and files, which are fetched once and verified at every use."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from dglkgmix.atomic import write_atomic
from dglkgmix.config.toml import parse
from dglkgmix.datasets import path as packaged
from dglkgmix.errors import DataError, StorageError, UnknownNameError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.download import Progress, download, members
from dglkgmix.paths import path_of

CACHE_VARIABLE = "DGLKGMIX_DATA"


@dataclass(frozen=True)
class Entry:
    """What the catalog states of a data set.

    Attributes:
        entities, relations: their number over all splits.
        train, valid, test: number of rows.
        urls: an address for each split, or one for ``archive``; none for the bundled graph.
        digests: :func:`lines_digest` of each split's file.
        file_sha256: SHA-256 of each split's published file, where known: faster to check.
        archive_sha256: SHA-256 of the archive, where the files come in one.
    """

    name: str
    summary: str
    entities: int
    relations: int
    train: int
    valid: int
    test: int
    licence: str
    citation: str
    urls: Mapping[str, str]
    digests: Mapping[str, str]
    file_sha256: Mapping[str, str] = field(default_factory=dict)
    archive_sha256: str | None = None

    @property
    def bundled(self) -> bool:
        """Whether the files come with the package."""
        return not self.urls


@cache
def _entries() -> Mapping[str, Entry]:
    text = packaged("catalog.toml").read_text(encoding="utf-8")
    return {name: Entry(name=name, **facts) for name, facts in parse(text, "catalog.toml").items()}


def names() -> tuple[str, ...]:
    """The names of all data sets, the bundled one first."""
    return tuple(_entries())


def is_known(name: str) -> bool:
    """Whether the catalog has a data set of exactly this name."""
    return name in _entries()


def entry(name: str) -> Entry:
    """The data set of this name.

    Raises:
        UnknownNameError: there is none; the message lists close matches.
    """
    if not is_known(name):
        near = difflib.get_close_matches(name.casefold(), names(), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names())}"
        raise UnknownNameError(f"no data set {name!r}: {hint}")
    return _entries()[name]


def cache_folder() -> Path:
    """Where data sets are kept: ``DGLKGMIX_DATA``, else ``dglkgmix`` in the user's cache folder.

    Raises:
        StorageError: the user has no home folder.
    """
    if chosen := os.environ.get(CACHE_VARIABLE):
        return path_of(chosen)
    platform = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if platform.is_absolute():  # A relative one is to be ignored, says the XDG specification.
        return platform / "dglkgmix"
    try:
        return Path.home() / ".cache" / "dglkgmix"
    except RuntimeError as error:
        raise StorageError(f"no home folder: set {CACHE_VARIABLE} to a folder for data") from error


def folder_of(data: Entry) -> Path:
    """The folder with the data set's files, there or not yet."""
    return packaged(data.name) if data.bundled else cache_folder() / data.name


def is_cached(data: Entry) -> bool:
    """Whether all files are in the folder; :func:`fetch` verifies them."""
    return not _missing(data)


def fetch(data: str | Entry, *, progress: Progress | None = None, timeout: float = 30.0) -> Path:
    """The folder with a data set's ``train.txt``, ``valid.txt`` and ``test.txt``, verified.

    Files in the cache folder are used, also those a user put there; missing ones are downloaded
    into memory, verified and then written, each whole or not at all: several processes may fetch
    the same data set at the same time.

    Args:
        data: a name of the catalog, or an entry of your own.
        progress: called with a file's name, the bytes so far and in all (None where unknown).
        timeout: seconds without an answer after which a download fails.

    Raises:
        UnknownNameError: no such data set.
        DataError: a file, downloaded or in the cache, is not what the catalog says.
        StorageError: the server, the network, the disk or the cache folder fails.
    """
    data = entry(data) if isinstance(data, str) else data
    folder = folder_of(data)
    missing = _missing(data)
    if missing and data.bundled:
        raise StorageError(f"{data.name}: the package lacks {folder}: install it again")
    for path in (folder / f"{split}.txt" for split in SPLITS if split not in missing):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StorageError(f"{data.name}: {path}: {error.strerror}") from error
        if not _is_published(data, path.stem, content):
            raise DataError(
                f"{data.name}: {path} is not the published file: remove it to fetch it again; to "
                "use it as it is, move the folder elsewhere and give its path"
            )
    if missing:
        _make_folder(data, folder.parent)
        fetched = _downloaded(data, missing, progress, timeout)
        _make_folder(data, folder)
        for split in missing:
            write_atomic(folder / f"{split}.txt", fetched[split])
    return folder


def lines_digest(content: bytes) -> str:
    """SHA-256 of the non-empty lines without their ends, sorted as bytes, each followed by LF.

    Independent of the order of lines and of line ends, which differ between servers.
    """
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    lines.sort()
    first = next((i for i, line in enumerate(lines) if line), len(lines))
    return hashlib.sha256(b"\n".join([*lines[first:], b""])).hexdigest()


def _missing(data: Entry) -> list[str]:
    folder = folder_of(data)
    try:
        return [split for split in SPLITS if not (folder / f"{split}.txt").exists()]
    except OSError as error:
        raise StorageError(f"{data.name}: {folder}: {error.strerror}") from error


def _is_published(data: Entry, split: str, content: bytes) -> bool:
    if data.file_sha256.get(split) == hashlib.sha256(content).hexdigest():
        return True
    return lines_digest(content) == data.digests[split]


def _make_folder(data: Entry, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{data.name}: the folder {folder} cannot be made ({error.strerror}); "
            f"{CACHE_VARIABLE} names another folder for data sets"
        ) from error


def _downloaded(
    data: Entry, splits: list[str], progress: Progress | None, timeout: float
) -> dict[str, bytes]:
    archive = data.urls.get("archive")
    urls = {"archive": archive} if archive else {split: data.urls[split] for split in splits}
    try:
        found = {k: download(url, timeout=timeout, progress=progress) for k, url in urls.items()}
    except StorageError as error:
        raise StorageError(f"{data.name}: {error}. {_advice(data)}") from error
    if archive:
        content = found["archive"]
        if data.archive_sha256 not in (None, hashlib.sha256(content).hexdigest()):
            raise _wrong(data, f"{archive} is not the published archive", content)
        try:
            files = members(content, [f"{split}.txt" for split in splits])
        except DataError as error:
            raise _wrong(data, f"{archive}: {error}", content) from error
        found = {split: files[f"{split}.txt"] for split in splits}
    for split, content in found.items():
        if not _is_published(data, split, content):
            url = archive or data.urls[split]
            raise _wrong(data, f"{url} holds another {split}.txt than the published one", content)
    return found


def _wrong(data: Entry, what: str, content: bytes) -> DataError:
    page = " but a web page" if content.lstrip()[:1] == b"<" else ""
    return DataError(f"{data.name}: {what}{page}; nothing was kept. {_advice(data)}")


def _advice(data: Entry) -> str:
    return (
        "Try again later, or copy train.txt, valid.txt and test.txt into "
        f"{folder_of(data)} ({CACHE_VARIABLE} names another folder for data sets)"
    )
