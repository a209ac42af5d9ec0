"""Real processes, interrupted and killed for real: nothing complete is ever lost."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from dglkgmix.cli.main import main
from dglkgmix.runs.run import Run
from tests.reliability.training import SMALL, write_source

TRAIN = (*SMALL, "--epochs=8", "--set=pretrain.epochs=4")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_source(tmp_path_factory.mktemp("data") / "ring")


def start(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "dglkgmix", "train", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Another than this process's: ids and weights must not hang on it.
        env={**os.environ, "PYTHONHASHSEED": "20231"},
    )


def finish(*args):
    """Train to the end, here: another process than the one that was stopped."""
    assert main(["train", *args, "--quiet"]) == 0


@pytest.fixture(scope="module")
def undisturbed(source, tmp_path_factory):
    """The weights that the training ends with when nobody interferes."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    finish(str(source), "--out", str(out), *TRAIN)
    return (out / "model.safetensors").read_bytes()


def wait_for_epoch(process, epochs):
    """Read progress until so many epochs have been told of."""
    assert process.stderr is not None
    seen, told = "", 0
    while told < epochs:
        line = process.stderr.readline()
        assert line, f"the training ended early: {seen}"
        seen += line
        told += " loss " in line
    return seen


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(source, undisturbed, tmp_path):
    out = tmp_path / "my run"
    process = start(str(source), "--out", str(out), *TRAIN)
    wait_for_epoch(process, 3)
    process.send_signal(signal.SIGINT)
    printed, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    assert "Traceback" not in err
    assert f"dglkgmix train --resume --out '{out}'" in err
    run = Run.open(out)
    assert not run.finished
    assert len(run.history) >= 2
    assert run.model is not None
    finish("--resume", "--out", str(out))
    assert (out / "model.safetensors").read_bytes() == undisturbed
    stages = [(row["stage"], row["epoch"]) for row in Run.open(out).history]
    assert stages == [("pretrain", e) for e in range(1, 5)] + [("train", e) for e in range(1, 9)]


def test_kill_minus_nine_loses_nothing(source, undisturbed, tmp_path):
    out = tmp_path / "run"
    chance = random.Random(0)
    process = start(str(source), "--out", str(out), *TRAIN)
    wait_for_epoch(process, chance.randint(1, 10))
    time.sleep(chance.random() * 0.05)
    process.kill()
    process.communicate(timeout=60)
    finish("--resume", "--out", str(out))
    assert (out / "model.safetensors").read_bytes() == undisturbed


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_repeated_kills_still_end_in_the_same_weights(source, undisturbed, tmp_path, seed):
    """Killed again and again, also while nothing has been written yet."""
    chance = random.Random(seed)
    out = tmp_path / "run"
    for _ in range(3):
        process = start(str(source), "--resume", "--out", str(out), *TRAIN)
        time.sleep(chance.random() * 6)
        process.kill()
        process.communicate(timeout=60)
    finish(str(source), "--resume", "--out", str(out), *TRAIN)
    assert (out / "model.safetensors").read_bytes() == undisturbed
