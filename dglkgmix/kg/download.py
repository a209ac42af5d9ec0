"""One file over HTTP, into memory: bounded in size and in time, whole or an error.

pooch bounds neither, and keeps a file before a digest that is not of its bytes can be checked, as
:func:`dglkgmix.kg.catalog.lines_digest` is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

from dglkgmix.errors import StorageError

Progress = Callable[[str, int, "int | None"], None]
"""Called with the file's name, the bytes so far, and the bytes in all where they are known."""

MAX_BYTES = 64 * 2**20
SLOWEST = 1024  # bytes a second, on average, once a time-out's length has passed
_CHUNK = 2**16


def download(
    url: str,
    *,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
    progress: Progress | None = None,
) -> bytes:
    """The file at an ``http`` or ``https`` address.

    Args:
        url: where; redirections are followed, to HTTP(S) alone. Proxies are those that the
            environment names.
        timeout: seconds of silence after which the mirror is given up; so is one that sends less
            than ``SLOWEST`` bytes a second for longer than that.
        max_bytes: a larger file is refused.
        progress: called after every piece.

    Raises:
        StorageError: the address cannot be reached, answers with an error, falls silent, stops
            half-way or sends too much. The message begins with the address.
    """
    with _complaints(url, timeout), _open(url, timeout) as response:
        return b"".join(_pieces(response, url, timeout, max_bytes, progress))


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


@contextmanager
def _complaints(url: str, timeout: float) -> Iterator[None]:
    silent = f"{url}: no answer within {timeout:g} s"
    try:
        yield
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
