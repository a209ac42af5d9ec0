from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.runs import state_file
from dglkgmix.runs.checkpoint import pack
from dglkgmix.runs.run_files import STATE
from dglkgmix.runs.state_file import StateFile, restore_random

CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path):
    with RunFolder.create(tmp_path / "run") as made:
        yield made


def test_what_is_saved_comes_back_with_the_random_state(folder: RunFolder) -> None:
    states = StateFile(folder, 1)
    assert states.load() is None
    torch.manual_seed(3)
    states.save({"epoch": 4}, CPU)
    expected = torch.rand(2)
    state = states.load()
    assert state is not None
    assert state["epoch"] == 4
    torch.manual_seed(9)
    restore_random(state, CPU)
    assert torch.equal(torch.rand(2), expected)


def test_a_number_says_how_often(folder: RunFolder) -> None:
    states = StateFile(folder, 3)
    assert [epoch for epoch in range(1, 8) if states.is_due(epoch)] == [3, 6]


def test_auto_writes_at_once_and_then_stays_below_a_twentieth_of_the_time(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(state_file.time, "monotonic", lambda: clock[0])
    states = StateFile(folder, "auto")
    assert states.is_due(1)
    write = folder.write

    def slow(name: str, data: bytes) -> None:
        write(name, data)
        clock[0] += 2.0

    monkeypatch.setattr(folder, "write", slow)
    states.save({}, CPU)
    clock[0] = 102.0 + 39.9
    assert not states.is_due(2)
    clock[0] = 102.0 + 40.1
    assert states.is_due(2)


def test_a_state_of_another_format_or_none_at_all_is_refused(folder: RunFolder) -> None:
    folder.write(STATE, pack({"format": 99}))
    with pytest.raises(
        CheckpointError, match=r"state.safetensors: format 99, this version reads 1"
    ):
        StateFile(folder, 1).load()
    folder.write(STATE, b"half a st")
    with pytest.raises(CheckpointError, match=r"state.safetensors: no complete state"):
        StateFile(folder, 1).load()
