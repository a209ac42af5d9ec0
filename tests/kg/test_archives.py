from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dglkgmix.errors import DataError
from dglkgmix.kg.archives import MAX_MEMBERS, members

TRAIN, TEST = b"a\tr\tb\n", b"b\tr\ta\n"


def packed(*entries: tuple[str, bytes | Callable[[tarfile.TarInfo], None]]) -> bytes:
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


def link(kind: bytes, target: str) -> Callable[[tarfile.TarInfo], None]:
    def make(member: tarfile.TarInfo) -> None:
        member.type, member.linkname = kind, target

    return make


def test_the_wanted_files_alone_are_read() -> None:
    archive = packed(("./train.txt", TRAIN), ("readme", b"hello"), ("test.txt", TEST))
    assert members(archive, ["train.txt", "test.txt"]) == {"train.txt": TRAIN, "test.txt": TEST}
    assert members(archive, ["test.txt"]) == {"test.txt": TEST}


def test_paths_that_climb_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_only_a_plain_file_counts(kind: bytes) -> None:
    archive = packed(("test.txt", TEST), ("train.txt", link(kind, "test.txt")))
    with pytest.raises(DataError, match=r"no plain file train\.txt"):
        members(archive, ["train.txt", "test.txt"])


def test_a_bomb_is_not_unpacked() -> None:
    bomb = packed(("train.txt", bytes(4_000_000)))
    assert len(bomb) < 20_000
    with pytest.raises(DataError, match="unpacks to more than 1,000,000 bytes"):
        members(bomb, ["train.txt"], max_bytes=1_000_000)
    assert len(members(bomb, ["train.txt"], max_bytes=5_000_000)["train.txt"]) == 4_000_000


def test_a_sparse_member_cannot_claim_more() -> None:
    header = tarfile.TarInfo("train.txt")
    header.type, header.size = tarfile.GNUTYPE_SPARSE, 0
    block = bytearray(header.tobuf(tarfile.GNU_FORMAT))
    block[386:398] = b"%011o\0" % 0  # one hole: nothing stored ...
    block[398:410] = b"%011o\0" % 0
    block[483:495] = b"%011o\0" % 2**32  # ... of four gigabytes
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    archive = gzip.compress(bytes(block) + bytes(1024))
    with pytest.raises(DataError, match=r"train\.txt in the archive unpacks to more"):
        members(archive, ["train.txt"])


def test_an_archive_of_many_members_is_refused() -> None:
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
def test_what_is_no_archive_is_said_so(archive: bytes) -> None:
    with pytest.raises(DataError, match=r"not a whole \.tar\.gz archive|no plain file"):
        members(archive, ["train.txt"])
