import fcntl
import json
import multiprocessing
import os
import signal
import time

import pytest

from dglkgmix.errors import CheckpointError, ConfigError
from dglkgmix.experiments.execute import load_graph
from dglkgmix.experiments.grid import parse_experiment
from dglkgmix.experiments.plan import make_plan
from dglkgmix.experiments.runner import run_experiment


def timeless(value):
    """Results without times."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key != "seconds"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def test_every_cell_is_done_but_those_that_cannot_be(done):
    out, found, said = done
    assert found["counts"] == {"done": 6, "failed": 2, "pending": 0}
    errors = {c["strategy"]: c["error"] for c in found["cells"] if c["state"] == "failed"}
    assert list(errors) == ["broken"]
    assert "loss is" in errors["broken"]
    assert len([line for line in said if line.startswith("FAILED")]) == 2
    # 2 seeds x (standard, two-stage, mixup, broken, and a pre-training for two of them).
    assert len(list((out / "runs").iterdir())) == 10
    assert said[0].startswith("[1/10] ")
    logs = sorted(path.name for path in (out / "failures").iterdir())
    assert len(logs) == 2
    assert "NumericError" in (out / "failures" / logs[0]).read_text()


def test_the_three_files_hold_the_same_results(done):
    out, found, _ = done
    assert json.loads((out / "results.json").read_text()) == json.loads(json.dumps(found))
    first = found["groups"][0]["account"]["overall"]["mrr"]["mean"]
    assert repr(first) in (out / "results.csv").read_text()
    assert f"{first:.4f}" in (out / "results.md").read_text()
    assert (out / "dglkgmix-experiment.toml").read_text().startswith("\n[experiment]")


def test_a_second_call_trains_only_what_failed(done, plan, text):
    out, found, _ = done
    said = []
    before = {p: p.stat().st_mtime_ns for p in out.glob("runs/*/metrics.json")}
    again = run_experiment(plan, text, out, quiet=True, say=said.append)
    assert all("broken" in line for line in said if line.startswith("["))
    assert timeless(again) == timeless(found)
    assert before == {p: p.stat().st_mtime_ns for p in out.glob("runs/*/metrics.json")}


def test_a_grid_may_grow(done, text):
    out, _, _ = done
    smaller = text.replace("seeds = [0, 1]", "seeds = [0]")
    plan = make_plan(parse_experiment(smaller), load_graph)
    said = []
    again = run_experiment(plan, smaller, out, quiet=True, say=said.append)
    assert not any("standard" in line for line in said)
    assert again["counts"] == {"done": 3, "failed": 1, "pending": 0}


def _run(text, out, jobs):
    plan = make_plan(parse_experiment(text), load_graph, jobs=jobs)
    run_experiment(plan, text, out, jobs=jobs, quiet=True)


def interrupted_and_resumed(text, out, jobs, moments):
    """Kill the experiment as soon as so many runs have a state, then let it go on; results."""
    for moment in moments:
        process = multiprocessing.get_context("spawn").Process(target=_run, args=(text, out, jobs))
        process.start()
        while len(list(out.glob("runs/*/last/state.safetensors"))) < moment and process.is_alive():
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
    for _ in range(100):  # Workers of the killed process let go of their folders.
        try:
            _run(text, out, jobs)
            break
        except CheckpointError:
            time.sleep(0.1)
    return json.loads((out / "results.json").read_text())


def test_killed_and_resumed_it_gives_the_same_table(done, text, tmp_path):
    found = interrupted_and_resumed(text, tmp_path / "killed", 1, [4])
    assert timeless(found) == timeless(json.loads(json.dumps(done[1])))


@pytest.mark.long
def test_several_processes_give_the_same_table(text, tmp_path):
    small = text.replace("seeds = [0, 1]", "seeds = [0]")
    small = small.replace('"two-stage", "mixup", "broken"', '"mixup", "broken"')
    small = small.replace('{ strategy = "two-stage" }', '{ strategy = "standard" }')
    for jobs in (1, 2):
        _run(small, tmp_path / str(jobs), jobs)
    first, second = (json.loads((tmp_path / n / "results.json").read_text()) for n in "12")
    assert first["counts"] == {"done": 2, "failed": 1, "pending": 0}
    assert timeless(first) == timeless(second)


def test_foreign_folders_and_two_at_once_are_refused(plan, text, tmp_path, done):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(CheckpointError, match=r"not empty \(it holds 'thesis.txt'\)"):
        run_experiment(plan, text, tmp_path)
    with pytest.raises(ConfigError, match="a file, where a folder"):
        run_experiment(plan, text, tmp_path / "thesis.txt")
    with (done[0] / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CheckpointError, match="in use by another experiment"):
            run_experiment(plan, text, done[0])


WORLD = """
[experiment]
name = "all strategies on world"
seeds = [0, 1]
[grid]
data = ["world"]
model = ["conve", "tucker"]
strategy = [
    "standard", "mixup", "oversample", "reweight", "focal", "logit-adjustment",
    "two-stage", "lambda-1", "swa",
]
[settings]
runtime.threads = 1
model.entity_dim = 16
training.epochs = 2
training.validate_every = 1
swa.start = 1
swa.every = 1
[variants.logit-adjustment]
training.loss = "ce"
[variants.two-stage]
strategy.name = "standard"
pretrain.enabled = true
[variants.lambda-1]
strategy.name = "mixup"
strategy.fixed_lambda = 1.0
[variants.swa]
strategy.name = "standard"
swa.enabled = true
"""


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_all_strategies_on_world_killed_half_way_and_resumed(tmp_path):
    _run(WORLD, tmp_path / "whole", 2)
    whole = json.loads((tmp_path / "whole" / "results.json").read_text())
    assert whole["counts"] == {"done": 36, "failed": 0, "pending": 0}
    found = interrupted_and_resumed(WORLD, tmp_path / "killed", 2, [9, 20])
    assert timeless(found) == timeless(whole)
