from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dglkgmix.errors import StorageError
from dglkgmix.kg.download import download
from tests.kg import mirror as faults
from tests.kg.mirror import Handler, Mirror

BODY = b"a\tr\tb\n" * 30_000  # 180,000 bytes: several pieces


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with faults.running() as server:
        yield server


def test_a_whole_file_with_progress(mirror: Mirror) -> None:
    seen: list[tuple[str, int, int | None]] = []
    url = mirror.add("/sets/train.txt", BODY)
    assert download(url, progress=lambda *step: seen.append(step)) == BODY
    assert len(seen) > 1
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
    assert seen[-1] == ("train.txt", 180_000, 180_000)


def test_a_file_of_unannounced_length(mirror: Mirror) -> None:
    def answer(handler: Handler) -> None:
        handler.begin()
        handler.wfile.write(BODY)

    seen: list[int | None] = []
    url = mirror.add("/train.txt", answer)
    assert download(url, progress=lambda _name, _done, total: seen.append(total)) == BODY
    assert set(seen) == {None}


def test_a_redirection_is_followed(mirror: Mirror) -> None:
    mirror.add("/new", BODY)
    assert download(mirror.add("/old", faults.to("/new"))) == BODY
    assert mirror.asked == ["/old", "/new"]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (faults.gateway_timeout, "HTTP status 504"),
        (faults.half, "broke off after 300 of 1,000 bytes"),
        (faults.silent, "no answer within 0.3 s"),
        (faults.stuck, "no answer within 0.3 s"),
        (faults.dripping, "bytes in 0 s"),
        (faults.circle, "HTTP status 302 (redirected in a circle)"),
    ],
)
def test_a_bad_answer_is_an_error_in_time(mirror: Mirror, answer: faults.Answer, what: str) -> None:
    url = mirror.add("/train.txt", answer)
    begin = time.monotonic()
    with pytest.raises(StorageError) as caught:
        download(url, timeout=0.3)
    assert time.monotonic() - begin < 5
    assert str(caught.value).startswith(f"{url}: ")
    assert what in str(caught.value)


def test_a_missing_file_is_an_error(mirror: Mirror) -> None:
    with pytest.raises(StorageError, match="HTTP status 404"):
        download(mirror.url("/train.txt"))


def test_a_chunked_file_that_breaks_off(mirror: Mirror) -> None:
    def answer(handler: Handler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.begin(Transfer_Encoding="chunked", Connection="close")
        handler.wfile.write(b"ff\r\nonly this")
        handler.close_connection = True

    with pytest.raises(StorageError, match="IncompleteRead"):
        download(mirror.add("/train.txt", answer))


@pytest.mark.parametrize("announced", [True, False])
def test_a_file_beyond_the_limit_is_refused(mirror: Mirror, announced: bool) -> None:
    def answer(handler: Handler) -> None:
        handler.begin(**({"Content_Length": len(BODY)} if announced else {}))
        handler.wfile.write(BODY)

    with pytest.raises(StorageError, match="larger than 100,000 bytes"):
        download(mirror.add("/train.txt", answer), max_bytes=100_000)


def test_only_http_is_spoken(mirror: Mirror, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a\tr\tb\n")
    for url in (secret.as_uri(), "ftp://127.0.0.1/train.txt", "train.txt"):
        with pytest.raises(StorageError):
            download(url)
        with pytest.raises(StorageError):
            download(mirror.add("/train.txt", faults.to(url)))


def test_a_server_that_is_down_or_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/train.txt"
    with pytest.raises(StorageError, match=r"cannot be reached \(Connection refused\)") as caught:
        download(url, timeout=2)
    assert url in str(caught.value)


def test_an_answer_that_is_not_http(mirror: Mirror) -> None:
    def answer(handler: Handler) -> None:
        handler.wfile.write(b"220 smtp ready\r\n")

    with pytest.raises(StorageError, match="BadStatusLine"):
        download(mirror.add("/train.txt", answer))
