import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dglkgmix.errors import ConfigError
from dglkgmix.experiments.pool import run_tasks

NEEDS = {"a": None, "b": "a", "c": None, "d": "c", "e": "d"}


def work(name):
    if name == "c":
        raise ConfigError("no good")


def die(name):
    if name == "a":
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_takes_only_those_that_need_it(jobs):
    started = []
    outcomes = {o.name: o for o in run_tasks(NEEDS, work, jobs=jobs, started=started.append)}
    assert {name: o.error for name, o in outcomes.items()} == {
        "a": None,
        "b": None,
        "c": "no good",
        "d": "it needs c, which failed: no good",
        "e": "it needs d, which failed: it needs c, which failed: no good",
    }
    assert sorted(started) == ["a", "b", "c"]
    assert "ConfigError: no good" in outcomes["c"].details
    assert "in work" in outcomes["c"].details


def test_tasks_run_in_order_and_after_what_they_need():
    done = []
    needs = {"pretrain": None, "x": "pretrain", "y": None}
    assert [o.name for o in run_tasks(needs, done.append)] == ["pretrain", "x", "y"] == done


def test_other_errors_name_their_kind():
    def broken(name):
        raise RuntimeError("out of memory")

    assert [o.error for o in run_tasks({"a": None}, broken)] == ["RuntimeError: out of memory"]


def test_an_interrupt_is_passed_on():
    def interrupted(name):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run_tasks({"a": None}, interrupted))


def test_a_worker_that_dies_fails_its_task_and_the_rest_goes_on():
    outcomes = {o.name: o.error for o in run_tasks({"a": None, "b": None}, die, jobs=2)}
    assert outcomes["b"] is None
    assert outcomes["a"] == "its process ended with status -9 (killed; was memory short?)"


SCRIPT = """
import os, sys, time
from pathlib import Path
from dglkgmix.experiments.pool import run_tasks

class Work:
    def __call__(self, name):
        Path(sys.argv[1], name).write_text(str(os.getpid()))
        time.sleep(60)

if __name__ == "__main__":
    list(run_tasks({"a": None, "b": None}, Work(), jobs=2))
"""


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_workers_end_with_a_killed_parent(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    files = [tmp_path / "a", tmp_path / "b"]
    wait_for(lambda: all(f.exists() and f.read_text() for f in files))
    workers = [int(f.read_text()) for f in files]
    parent.kill()
    parent.wait()
    wait_for(lambda: not any(running(pid) for pid in workers))


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
