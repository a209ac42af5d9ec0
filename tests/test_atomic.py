"""A write that fails, is interrupted or finds no room leaves what was there."""

import errno
import os
from pathlib import Path

import pytest

from dglkgmix.atomic import make_folder, write_atomic
from dglkgmix.errors import ConfigError, StorageError
from tests.test_files import contents, fast_disk, file_size_limit  # noqa: F401 - a fixture


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    def fail(path):
        path.write_bytes(b"new")
        raise RuntimeError("a tensor that cannot be had")

    write_atomic(tmp_path / "f", lambda path: path.write_bytes(b"old"))
    with pytest.raises(RuntimeError, match="a tensor"):
        write_atomic(tmp_path / "f", fail)
    assert contents(tmp_path) == {"f": b"old"}


def test_writes_and_replaces(tmp_path):
    write_atomic(tmp_path / "f", b"one")
    write_atomic(tmp_path / "f", b"")
    assert contents(tmp_path) == {"f": b""}


def test_follows_the_umask_as_other_files_do(tmp_path):
    (tmp_path / "ordinary").touch()
    write_atomic(tmp_path / "f", b"x")
    assert (tmp_path / "f").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, step, number, advice
):
    write_atomic(tmp_path / "f", b"old")

    def fail(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(StorageError, match=f"{tmp_path}/f: .*{advice}"):
        write_atomic(tmp_path / "f", b"new")
    monkeypatch.undo()
    assert contents(tmp_path) == {"f": b"old"}


def test_ctrl_c_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    write_atomic(tmp_path / "f", b"old")
    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "f", b"new")
    assert contents(tmp_path) == {"f": b"old"}


@pytest.mark.parametrize(
    ("place", "advice"),
    [
        ("gone/f", "does not exist, or was removed"),
        ("file/f", "a file stands where a folder belongs"),
        ("folder", "a folder stands where a file belongs"),
    ],
)
def test_what_stands_in_the_way_is_told(tmp_path, place, advice):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=advice):
        write_atomic(tmp_path / place, b"x")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_link_to_nothing_is_no_folder(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for place, what in {"link": "link: a link to nothing", "link/f": "link is a link to"}.items():
        with pytest.raises(ConfigError, match=f"{what}.*, where a folder belongs"):
            make_folder(tmp_path / place)


def test_a_real_limit_of_the_system(tmp_path):
    """A full disk as the kernel reports it, without the rights to mount one."""
    write_atomic(tmp_path / "f", b"old")
    with (
        file_size_limit(4096),
        pytest.raises(StorageError, match="larger than this system allows"),
    ):
        write_atomic(tmp_path / "f", bytes(100_000))
    assert contents(tmp_path) == {"f": b"old"}


def test_the_file_and_the_rename_are_synced_in_this_order(tmp_path, monkeypatch):
    seen = []

    def record(descriptor):
        synced = Path(f"/proc/self/fd/{descriptor}").readlink()
        kind = "folder" if synced == tmp_path else "file"
        seen.append((kind, [file.suffix for file in tmp_path.iterdir()]))

    monkeypatch.setattr(os, "fsync", record)
    write_atomic(tmp_path / "f.txt", b"x")
    assert seen == [("file", [".tmp"]), ("folder", [".txt"])]
