"""Trainings in real processes, of which one fails, is killed, interrupted or started anew."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dglkgmix.cli import processes
from dglkgmix.cli.main import main
from dglkgmix.errors import ConfigError, PeerError
from dglkgmix.processes import Processes
from dglkgmix.runs.checkpoint import StateFile
from dglkgmix.runs.run import Run
from tests.test_interrupt import TRAIN, source, wait_for_epoch

__all__ = ["source"]
TWO = ("--processes", "2", *TRAIN, "--epochs=12")
TORCHRUN = ("torch.distributed.run", "--standalone", "--nproc-per-node=2", "-m")


def start(*command, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Beside other work, a command says how many threads it takes.
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )


def children(process):
    """The processes that a launcher has started, in the order of their ranks."""
    every = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    commands = {int(child): Path(f"/proc/{child}/cmdline").read_text() for child in every}
    return [child for child, command in commands.items() if "resource_tracker" not in command]


def trained(out):
    return (out / "model.safetensors").read_bytes()


def epochs(out):
    return [(row["stage"], row["epoch"]) for row in Run.open(out).history]


WHOLE = [("pretrain", e) for e in range(1, 5)] + [("train", e) for e in range(1, 13)]


def test_one_that_is_killed_ends_both_and_the_run_goes_on_in_one_process(source, tmp_path, capsys):
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
    assert state["made_with"]["processes"] == 2
    assert main(["train", "--resume", "--out", str(out)]) == 0
    told = capsys.readouterr().err
    assert "Made with processes 2, going on with 1: the result will be as good, but not" in told
    assert epochs(out) == WHOLE
    assert Run.open(out).finished


@pytest.mark.long
def test_ctrl_c_ends_all_with_130_and_what_goes_on_has_the_bits_of_two(source, tmp_path):
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
        "Interrupted. Progress saved. Resume with:",
        f"  dglkgmix train --resume --out {out} --processes 2",
    ]
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    again = start("dglkgmix", "train", "--resume", "--out", out, "--processes", "2")
    assert "Made with" not in again.communicate(timeout=240)[1]
    assert again.returncode == 0
    assert trained(out) == trained(whole)
    assert epochs(out) == epochs(whole) == WHOLE


@pytest.mark.long
def test_processes_end_with_their_launcher(source, tmp_path):
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
def test_torchrun_resumes_a_failed_training_from_its_last_state(source, tmp_path):
    out = tmp_path / "run"
    launcher = start(
        *(*TORCHRUN[:-1], "--max-restarts=1", "-m"),
        *("dglkgmix", "train", source, "--resume", "--out", out, *TRAIN, "--epochs=12"),
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
@pytest.mark.parametrize(
    ("launcher", "processes", "status"),
    # torchrun has one status for all failures, and prints a report of its own.
    [((), ("--processes=2",), 2), (TORCHRUN, (), 1)],
)
def test_an_error_is_one_line(source, launcher, processes, status):
    process = start(*launcher, "dglkgmix", "train", source, "--out", source, *processes)
    printed, err = process.communicate(timeout=120)
    errors = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert (printed, process.returncode, len(errors)) == ("", status, 1), err
    assert "not empty" in errors[0]
    assert launcher or err.splitlines() == errors


@pytest.mark.long
def test_an_error_of_all_processes_is_one_line(source, tmp_path):
    command = ("dglkgmix", "train", source, "--out", tmp_path / "run", "--lr=-1")
    process = start(*command, "--processes=2")
    printed, err = process.communicate(timeout=120)
    assert (printed, process.returncode, err.count("\n")) == ("", 2, 1)
    assert err.startswith("Error: training.lr must be above 0")


class Failing(Processes):
    """The second of two, which is or is not the first to fail."""

    def first_to_fail(self):
        return bool(self.store)


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
def test_of_several_that_fail_the_first_tells(monkeypatch, error, first, outcome):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    kind = SystemExit if isinstance(outcome, int) else outcome
    with pytest.raises(kind) as raised, processes._one_error(Failing(1, 2, store=first)):
        raise error
    assert not isinstance(outcome, int) or raised.value.code == outcome
    assert bool(waited) == isinstance(error, PeerError)


@pytest.mark.parametrize(
    ("code", "status"), [(2, 2), (1, 1), (-9, "one of the 2 .* SIGKILL, as"), (-11, "SIGSEGV$")]
)
def test_the_status_of_all(code, status):
    if isinstance(status, int):
        assert processes._status(code, 2) == status
    else:
        with pytest.raises(PeerError, match=status):
            processes._status(code, 2)
    with pytest.raises(KeyboardInterrupt):
        processes._status(-signal.SIGINT, 2)


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [(None, None, False), (1, None, False), (2, None, True), (2, "2", False)],
)
def test_processes_are_started_once(monkeypatch, count, size, expected):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    if size:
        monkeypatch.setenv("WORLD_SIZE", size)
    assert processes.are_to_be_started(count) is expected


def test_another_number_than_torchruns_is_refused(monkeypatch, toy_folder, capsys):
    monkeypatch.setenv("WORLD_SIZE", "1")
    status = main(["train", str(toy_folder), "--out", str(toy_folder / "run"), "--processes", "3"])
    assert status == 2
    assert "--processes 3, but there are 1" in capsys.readouterr().err


def test_ctrl_c_while_processes_run_is_as_everywhere(monkeypatch, toy_folder, capsys):
    asked = []

    def interrupted(count, arguments):
        asked.append((count, *arguments))
        raise KeyboardInterrupt

    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setattr(processes, "start", interrupted)
    out = toy_folder / "run"
    out.mkdir()
    (out / "manifest.json").write_text("{}")
    command = ["train", "--resume", "--out", str(out), "--processes", "2"]
    assert main(command) == 130
    assert main([*command, "--set", "runtime.threads=3"]) == 130
    threads = ("--set", "runtime.threads=auto")
    assert asked == [(2, *command, *threads), (2, *command, "--set", "runtime.threads=3")]
    assert f"dglkgmix train --resume --out {out} --processes 2" in capsys.readouterr().err


def test_more_processes_than_fit_are_refused(source, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("dglkgmix.training.memory.available_memory", lambda _: 2**29)
    out = tmp_path / "run"
    assert main(["train", str(source), "--out", str(out), "--processes", "9"]) == 2
    assert capsys.readouterr().err == (
        "Error: --processes 9: each needs 100 MiB of memory and more, and 0.5 GiB are available: "
        "start fewer\n"
    )
