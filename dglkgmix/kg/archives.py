"""Files out of a .tar.gz, in memory: nothing is ever laid where the archive says."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Collection

from dglkgmix.errors import DataError

MAX_BYTES = 128 * 2**20
MAX_MEMBERS = 100
_GZIP = 31  # zlib's name for "gzip header, largest window"


def members(
    archive: bytes, wanted: Collection[str], *, max_bytes: int = MAX_BYTES
) -> dict[str, bytes]:
    """The content of the wanted files at an archive's top level.

    Other members are passed over, wherever they would go: paths that climb, links and devices do
    no harm here.

    Raises:
        DataError: not a .tar.gz, cut short, larger than ``max_bytes`` when unpacked, with more
            than ``MAX_MEMBERS`` members, or without one of the wanted files as a plain file.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(_unzip(archive, max_bytes)), mode="r:") as tar:
            found = _read(tar, set(wanted), max_bytes)
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise DataError(f"not a whole .tar.gz archive ({error})") from error
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise DataError(f"the archive holds no plain file {missing[0]}")
    return found


def _unzip(archive: bytes, max_bytes: int) -> bytes:
    stream = zlib.decompressobj(_GZIP)
    data = stream.decompress(archive, max_bytes + 1)
    if len(data) > max_bytes:
        raise DataError(f"the archive unpacks to more than {max_bytes:,} bytes")
    if not stream.eof:
        raise DataError("not a whole .tar.gz archive (it is cut short)")
    return data


def _read(tar: tarfile.TarFile, wanted: set[str], max_bytes: int) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for number, member in enumerate(tar, 1):
        if number > MAX_MEMBERS:
            raise DataError(f"the archive has more than {MAX_MEMBERS} members")
        name = member.name.removeprefix("./")
        if name not in wanted or not member.isreg():
            continue
        if member.size > max_bytes:  # A sparse member may claim what the archive does not hold.
            raise DataError(f"{name} in the archive unpacks to more than {max_bytes:,} bytes")
        file = tar.extractfile(member)
        if file is not None:
            found[name] = file.read()
    return found
