import gzip
import io
import socket
import tarfile
import time

import pytest

from dglkgmix.errors import DataError, StorageError
from dglkgmix.kg.download import MAX_MEMBERS, download, members
from tests.kg import mirror as faults

TRAIN, TEST = b"a\tr\tb\n", b"b\tr\ta\n"
BODY = b"a\tr\tb\n" * 30_000  # 180,000 bytes: several pieces


@pytest.fixture
def mirror(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with faults.running() as server:
        yield server


def test_a_whole_file_with_progress(mirror):
    seen = []
    url = mirror.add("/sets/train.txt", BODY)
    assert download(url, progress=lambda *step: seen.append(step)) == BODY
    assert len(seen) > 1
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
    assert seen[-1] == ("train.txt", 180_000, 180_000)


def test_a_file_of_unannounced_length(mirror):
    def answer(handler):
        handler.begin()
        handler.wfile.write(BODY)

    seen = []
    url = mirror.add("/train.txt", answer)
    assert download(url, progress=lambda _name, _done, total: seen.append(total)) == BODY
    assert set(seen) == {None}


def test_a_redirection_is_followed(mirror):
    mirror.add("/new", BODY)
    assert download(mirror.add("/old", faults.to("/new"))) == BODY
    assert mirror.asked == ["/old", "/new"]


def broken_chunk(handler):
    handler.protocol_version = "HTTP/1.1"
    handler.begin(Transfer_Encoding="chunked", Connection="close")
    handler.wfile.write(b"ff\r\nonly this")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (faults.gateway_timeout, "HTTP status 504"),
        (lambda handler: handler.send_error(404), "HTTP status 404"),
        (broken_chunk, "IncompleteRead"),
        (lambda handler: handler.wfile.write(b"220 smtp ready\r\n"), "BadStatusLine"),
        (faults.half, "broke off after 300 of 1,000 bytes"),
        (faults.silent, "no answer within 0.3 s"),
        (faults.stuck, "no answer within 0.3 s"),
        (faults.dripping, "bytes in 0 s"),
        (faults.circle, "HTTP status 302 (redirected in a circle)"),
    ],
)
def test_a_bad_answer_is_an_error_in_time(mirror, answer, what):
    url = mirror.add("/train.txt", answer)
    begin = time.monotonic()
    with pytest.raises(StorageError) as caught:
        download(url, timeout=0.3)
    assert time.monotonic() - begin < 5
    assert str(caught.value).startswith(f"{url}: ")
    assert what in str(caught.value)


@pytest.mark.parametrize("announced", [True, False])
def test_a_file_beyond_the_limit_is_refused(mirror, announced):
    def answer(handler):
        handler.begin(**({"Content_Length": len(BODY)} if announced else {}))
        handler.wfile.write(BODY)

    with pytest.raises(StorageError, match="larger than 100,000 bytes"):
        download(mirror.add("/train.txt", answer), max_bytes=100_000)


def test_only_http_is_spoken(mirror, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("a\tr\tb\n")
    for url in (secret.as_uri(), "ftp://127.0.0.1/train.txt", "train.txt"):
        with pytest.raises(StorageError):
            download(url)
        with pytest.raises(StorageError):
            download(mirror.add("/train.txt", faults.to(url)))


def test_a_server_that_is_down_or_is_none():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/train.txt"
    with pytest.raises(StorageError, match=r"cannot be reached \(Connection refused\)") as caught:
        download(url, timeout=2)
    assert url in str(caught.value)


def packed(*entries):
    """A .tar.gz of plain files, or of whatever the function makes of a member."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in entries:
            member = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                content(member)
                tar.addfile(member)
    return buffer.getvalue()


def test_the_wanted_files_alone_are_read():
    archive = packed(("./train.txt", TRAIN), ("readme", b"hello"), ("test.txt", TEST))
    assert members(archive, ["train.txt", "test.txt"]) == {"train.txt": TRAIN, "test.txt": TEST}
    assert members(archive, ["test.txt"]) == {"test.txt": TEST}


def test_paths_that_climb_are_passed_over(tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    evil = [
        ("../train.txt", b"evil"),
        (f"{tmp_path}/train.txt", b"evil"),
        ("sub/../../train.txt", b"evil"),
    ]
    assert members(packed(*evil, ("train.txt", TRAIN)), ["train.txt"]) == {"train.txt": TRAIN}
    with pytest.raises(DataError, match=r"no plain file train\.txt"):
        members(packed(*evil), ["train.txt"])
    assert [path for path in tmp_path.rglob("*") if path != inner] == []


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_only_a_plain_file_counts(kind):
    def link(member):
        member.type, member.linkname = kind, "test.txt"

    archive = packed(("test.txt", TEST), ("train.txt", link))
    with pytest.raises(DataError, match=r"no plain file train\.txt"):
        members(archive, ["train.txt", "test.txt"])


def test_a_bomb_is_not_unpacked():
    bomb = packed(("train.txt", bytes(4_000_000)))
    assert len(bomb) < 20_000
    with pytest.raises(DataError, match="unpacks to more than 1,000,000 bytes"):
        members(bomb, ["train.txt"], max_bytes=1_000_000)
    assert len(members(bomb, ["train.txt"], max_bytes=5_000_000)["train.txt"]) == 4_000_000


def test_a_sparse_member_cannot_claim_more():
    header = tarfile.TarInfo("train.txt")
    header.type, header.size = tarfile.GNUTYPE_SPARSE, 0
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[386:398] = b"%011o\0" % 0  # one hole: nothing stored ...
    block[398:410] = b"%011o\0" % 0
    block[483:495] = b"%011o\0" % 2**32  # ... of four gigabytes
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    archive = gzip.compress(bytes(block) + bytes(1024))
    with pytest.raises(DataError, match=r"train\.txt in the archive unpacks to over"):
        members(archive, ["train.txt"])


def test_an_archive_of_many_members_is_refused():
    crowd = [(f"{number}.txt", b"") for number in range(MAX_MEMBERS)]
    with pytest.raises(DataError, match=f"more than {MAX_MEMBERS} members"):
        members(packed(*crowd, ("train.txt", TRAIN)), ["train.txt"])


@pytest.mark.parametrize(
    "archive",
    [
        b"",
        b"<html>Please log in</html>",
        packed(("train.txt", TRAIN * 1000))[:-4],
        packed(("train.txt", TRAIN * 1000))[:15],
        gzip.compress(b"no archive at all" * 100),
        gzip.compress(b"short"),
    ],
    ids=["empty", "page", "checksum cut off", "cut early", "no tar", "no tar, short"],
)
def test_what_is_no_archive_is_said_so(archive):
    with pytest.raises(DataError, match=r"not a whole \.tar\.gz archive|no plain file"):
        members(archive, ["train.txt"])
