from __future__ import annotations

from pathlib import Path

import pytest

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.runs.spectator import Spectator


def test_it_reads_what_another_writes_and_writes_nothing(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run") as writer:
        writer.write("a", b"1")
        seen = Spectator.open(tmp_path / "run")
        seen.write("a", b"2")
        seen.write("b", b"3")
        seen.remove("a")
        assert seen.read("a") == writer.read("a") == b"1"
        writer.write("a", b"4")
        assert seen.read("a") == b"4"
        assert writer.names == seen.names == ["a"]


def test_a_new_run_has_nothing_whatever_lies_in_its_folder(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run") as old:
        old.write("a", b"1")
    seen = Spectator.begin(tmp_path / "run")
    assert not seen.has("a")
    seen.write("a", b"2")
    assert RunFolder.open(tmp_path / "run").read("a") == b"1"
    assert not Spectator.begin(tmp_path / "none").has("a")
    assert not (tmp_path / "none").exists()


def test_there_must_be_a_run_to_open(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such run folder"):
        Spectator.open(tmp_path / "none")
