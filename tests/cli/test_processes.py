"""Trainings in real processes, of which one is killed, interrupted or started anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dglkgmix.cli import processes
from dglkgmix.cli.main import main
from dglkgmix.errors import ConfigError, PeerError
from dglkgmix.runs.run import Run
from dglkgmix.runs.state_file import StateFile
from dglkgmix.world import World
from tests.test_interrupt import TRAIN, source, wait_for_epoch

__all__ = ["source"]
TWO = ("--processes", "2", *TRAIN, "--epochs=12")


def start(*command: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def children(process: int) -> list[int]:
    """Of a launcher, in the order of their ranks."""
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def trained(out: Path) -> bytes:
    return (out / "model.safetensors").read_bytes()


def epochs(out: Path) -> list[tuple[str, int]]:
    return [(row["stage"], row["epoch"]) for row in Run.open(out).history]


WHOLE = [("pretrain", e) for e in range(1, 5)] + [("train", e) for e in range(1, 13)]


def test_one_that_is_killed_ends_both_and_the_run_goes_on_in_one_process(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    launcher = start("dglkgmix", "train", source, "--out", out, *TWO)
    wait_for_epoch(launcher, 3)
    workers = children(launcher.pid)
    os.kill(workers[1], signal.SIGKILL)
    printed, err = launcher.communicate(timeout=120)
    assert (launcher.returncode, printed) == (1, "")
    errors = [line for line in err.splitlines() if " loss " not in line]
    assert len(errors) == 1
    assert errors[0].startswith("Error: one of the 2 processes was ended by SIGKILL")
    assert errors[0].endswith(f"kept: dglkgmix train --resume --out {out} --processes 2")
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    state = StateFile(Run.open(out).folder, "auto").load()
    assert state is not None
    assert state["made_with"]["processes"] == 2

    assert main(["train", "--resume", "--out", str(out)]) == 0
    told = capsys.readouterr().err
    assert "Made with processes 2, going on with 1: the result will be as good, but not" in told
    assert epochs(out) == WHOLE
    assert Run.open(out).finished


@pytest.mark.long
def test_ctrl_c_ends_all_with_130_and_what_goes_on_has_the_bits_of_two(
    source: Path, tmp_path: Path
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "run"
    undisturbed = start("dglkgmix", "train", source, "--out", whole, *TWO, "--json")
    printed, err = undisturbed.communicate(timeout=240)
    assert undisturbed.returncode == 0, err
    assert printed.count('"run"') == 1
    launcher = start("dglkgmix", "train", source, "--out", out, *TWO)
    wait_for_epoch(launcher, 4)
    workers = children(launcher.pid)
    launcher.send_signal(signal.SIGINT)
    printed, err = launcher.communicate(timeout=120)
    assert (launcher.returncode, printed) == (130, "")
    said = [line for line in err.splitlines() if " loss " not in line]
    assert said == [
        "Interrupted. What was complete is kept; go on with:",
        f"  dglkgmix train --resume --out {out} --processes 2",
    ]
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    again = start("dglkgmix", "train", "--resume", "--out", out, "--processes", "2")
    assert "Made with" not in again.communicate(timeout=240)[1]
    assert again.returncode == 0
    assert trained(out) == trained(whole)
    assert epochs(out) == epochs(whole) == WHOLE


@pytest.mark.long
def test_processes_end_with_their_launcher(source: Path, tmp_path: Path) -> None:
    """Or the run would stay in use by a training that nobody sees."""
    out = tmp_path / "run"
    launcher = start("dglkgmix", "train", source, "--out", out, *TWO)
    wait_for_epoch(launcher, 2)
    workers = children(launcher.pid)
    launcher.kill()
    launcher.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert main(["train", "--resume", "--out", str(out), "--quiet"]) == 0


@pytest.mark.long
def test_torchrun_starts_a_failed_training_anew_from_its_last_state(
    source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    launcher = start(
        *("torch.distributed.run", "--standalone", "--nproc-per-node", 2, "--max-restarts", 1),
        *("-m", "dglkgmix", "train", source, "--out", out, *TRAIN, "--epochs=12"),
        GLOO_SOCKET_IFNAME="lo",
        OMP_NUM_THREADS="1",
    )
    wait_for_epoch(launcher, 6)
    os.kill(children(launcher.pid)[0], signal.SIGKILL)
    printed, err = launcher.communicate(timeout=240)
    assert launcher.returncode == 0, err
    assert "Going on after epoch" in err
    assert epochs(out) == WHOLE
    assert printed.count("Run: ") == 1


@pytest.mark.long
def test_torchrun_leaves_the_runs_of_others_alone(source: Path, tmp_path: Path) -> None:
    """A second attempt refuses what the first did, also where it could be taken for its own."""
    out = tmp_path / "run"
    assert main(["train", str(source), "--out", str(out), *TRAIN, "--epochs=1", "--quiet"]) == 0
    before = trained(out)
    launcher = start(
        *("torch.distributed.run", "--standalone", "--nproc-per-node", 2, "--max-restarts", 1),
        *("-m", "dglkgmix", "train", source, "--out", out, *TRAIN, "--epochs=1"),
        GLOO_SOCKET_IFNAME="lo",
    )
    _, err = launcher.communicate(timeout=240)
    assert launcher.returncode == 1
    errors = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 2  # one each attempt
    assert all("--overwrite" in error for error in errors)
    assert trained(out) == before


class Fellow(World):
    """The second of two, which is or is not the first in trouble."""

    def __init__(self, first: bool) -> None:
        super().__init__(1, 2)
        self.first = first

    def claims(self) -> bool:
        return self.first


@pytest.mark.parametrize(
    ("error", "first", "outcome"),
    [
        (ConfigError("bad"), True, ConfigError),
        (ConfigError("bad"), False, 2),
        (PeerError("gone"), False, 1),
        (RuntimeError("odd"), False, 1),
        (RuntimeError("odd"), True, RuntimeError),
        (KeyboardInterrupt(), True, 130),
    ],
)
def test_of_several_in_trouble_one_speaks(
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    first: bool,
    outcome: type[Exception] | int,
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    kind = SystemExit if isinstance(outcome, int) else outcome
    with pytest.raises(kind) as raised, processes._one_voice(Fellow(first)):
        raise error
    assert not isinstance(outcome, int) or raised.value.code == outcome
    assert bool(waited) == isinstance(error, PeerError)


def test_alone_every_error_is_its_own() -> None:
    with pytest.raises(PeerError), processes._one_voice(World()):
        raise PeerError("gone")


@pytest.mark.parametrize(
    ("codes", "status"),
    [([2], 2), ([1, 2], 1), ([-15, 2], 2), ([1, -9], "2 .* SIGKILL"), ([-15], "SIGTERM$")],
)
def test_the_status_of_all(codes: list[int], status: int | str) -> None:
    if isinstance(status, int):
        assert processes._status(codes, 2) == status
    else:
        with pytest.raises(PeerError, match=status):
            processes._status(codes, 2)


def test_threads_are_divided_and_the_environment_is_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth7")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    settings = processes._settings(2)
    assert settings["OMP_NUM_THREADS"] == "2"
    assert "GLOO_SOCKET_IFNAME" not in settings
    assert processes._settings(9)["OMP_NUM_THREADS"] == "1"
    with processes._environment(settings):
        assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_command_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command(cls=processes.Repeatable)
    @click.option("--out")
    @click.argument("name")
    @click.pass_context
    def work(context: click.Context, **_: object) -> None:
        click.echo(" ".join(processes._command(context)))

    found = CliRunner().invoke(work, ["a", "--out", "b"])
    assert found.output == "-m dglkgmix work a --out b\n"


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [(None, None, False), (1, None, False), (2, None, True), (2, "2", False)],
)
def test_processes_are_started_once(
    monkeypatch: pytest.MonkeyPatch, count: int | None, size: str | None, expected: bool
) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    if size:
        monkeypatch.setenv("WORLD_SIZE", size)
    assert processes.are_to_be_started(count) is expected


def test_another_number_than_torchruns_is_refused(
    monkeypatch: pytest.MonkeyPatch, toy_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    status = main(["train", str(toy_folder), "--out", str(toy_folder / "run"), "--processes", "3"])
    assert status == 2
    assert "--processes 3, but there are 1" in capsys.readouterr().err


def test_ctrl_c_while_processes_run_is_as_everywhere(
    monkeypatch: pytest.MonkeyPatch, toy_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[object, ...]] = []

    def interrupted(count: int, context: click.Context, *further: str) -> int:
        asked.append((count, *further))
        raise KeyboardInterrupt

    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setattr(processes, "start", interrupted)
    out = toy_folder / "run"
    command = ["train", "--resume", "--out", str(out), "--processes", "2"]
    assert main(command) == 130
    assert main([*command, "--set", "runtime.threads=3"]) == 130
    assert asked == [(2, "--set", "runtime.threads=auto"), (2,)]
    assert f"dglkgmix train --resume --out {out} --processes 2" in capsys.readouterr().err
