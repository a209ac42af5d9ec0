"""One file over HTTP and files out of an archive, in memory: bounded in size and time.

pooch bounds neither, and knows no digest but of a file's bytes.
"""

from __future__ import annotations

import io
import tarfile
import time
import zlib
from collections.abc import Callable, Collection, Iterator
from http.client import HTTPException, HTTPResponse
from typing import cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
)

from dglkgmix.errors import DataError, StorageError

Progress = Callable[[str, int, "int | None"], None]
"""Called with the file's name, the bytes so far, and the bytes in all where they are known."""

MAX_BYTES = 64 * 2**20
MAX_UNPACKED = 128 * 2**20
MAX_MEMBERS = 100
SLOWEST = 1024  # bytes a second, on average, once a time-out's length has passed
_CHUNK = 2**16
_GZIP = 31  # zlib's name for "gzip header, largest window"


def download(
    url: str,
    *,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> bytes:
    """The file at an ``http`` or ``https`` address.

    Args:
        url: redirections are followed, to HTTP(S) alone. Proxies are those that the environment
            names.
        timeout: seconds without an answer after which the download fails; so does one of less
            than ``SLOWEST`` bytes a second for longer than that.
        max_bytes: a larger file is refused.
        progress: called after every piece.

    Raises:
        StorageError: the address cannot be reached, answers with an error, stops sending or sends
            too much. The message begins with the address.
    """
    silent = f"{url}: no answer within {timeout:g} s"
    try:
        with _open(url, timeout) as response:
            return b"".join(_pieces(response, url, timeout, max_bytes, progress))
    except StorageError:
        raise
    except HTTPError as error:
        error.close()
        circle = " (redirected in a circle)" if error.code // 100 == 3 else ""
        raise StorageError(f"{url}: HTTP status {error.code}{circle}") from None
    except TimeoutError:
        raise StorageError(silent) from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise StorageError(silent) from None
        reason = getattr(error.reason, "strerror", None) or error.reason
        raise StorageError(f"{url}: cannot be reached ({reason})") from None
    except (OSError, HTTPException, ValueError) as error:
        raise StorageError(f"{url}: {type(error).__name__}: {error}") from error


def _open(url: str, timeout: float) -> HTTPResponse:
    opener = OpenerDirector()  # Not urllib's own: that one reads files and FTP servers too.
    for handler in (
        ProxyHandler,
        UnknownHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPDefaultErrorHandler,
        HTTPRedirectHandler,
        HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    request = Request(url, headers={"User-Agent": "dglkgmix"})  # noqa: S310
    return cast("HTTPResponse", opener.open(request, timeout=timeout))


def _pieces(
    response: HTTPResponse, url: str, timeout: float, max_bytes: int, progress: Progress | None
) -> Iterator[bytes]:
    length = response.headers.get("Content-Length", "")
    expected = int(length) if length.isdecimal() else None
    name = urlsplit(url).path.rpartition("/")[2]
    begin, received = time.monotonic(), 0
    while piece := response.read1(_CHUNK):
        received += len(piece)
        if max(received, expected or 0) > max_bytes:
            raise StorageError(f"{url}: larger than {max_bytes:,} bytes")
        elapsed = time.monotonic() - begin
        if elapsed > timeout and received < elapsed * SLOWEST:
            raise StorageError(f"{url}: only {received:,} bytes in {elapsed:.0f} s")
        if progress is not None:
            progress(name, received, expected)
        yield piece
    if expected is not None and received != expected:
        raise StorageError(f"{url}: broke off after {received:,} of {expected:,} bytes")


def members(
    archive: bytes, wanted: Collection[str], *, max_bytes: int = MAX_UNPACKED
) -> dict[str, bytes]:
    """The content of the wanted plain files at the top level of a .tar.gz; others are skipped.

    Raises:
        DataError: not a .tar.gz, cut short, larger than ``max_bytes`` when unpacked, with more
            than ``MAX_MEMBERS`` members, or without one of the wanted files.
    """
    found: dict[str, bytes] = {}
    try:
        stream = zlib.decompressobj(_GZIP)
        data = stream.decompress(archive, max_bytes + 1)
        if len(data) > max_bytes:
            raise DataError(f"the archive unpacks to more than {max_bytes:,} bytes")
        if not stream.eof:
            raise DataError("not a whole .tar.gz archive (it is cut short)")
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for number, member in enumerate(tar, 1):
                if number > MAX_MEMBERS:
                    raise DataError(f"the archive has more than {MAX_MEMBERS} members")
                name = member.name.removeprefix("./")
                if name not in wanted or not member.isreg():
                    continue
                if member.size > max_bytes:  # A sparse member may claim more than is there.
                    raise DataError(f"{name} in the archive unpacks to over {max_bytes:,} bytes")
                if (file := tar.extractfile(member)) is not None:
                    found[name] = file.read()
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise DataError(f"not a whole .tar.gz archive ({error})") from error
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise DataError(f"the archive holds no plain file {missing[0]}")
    return found
