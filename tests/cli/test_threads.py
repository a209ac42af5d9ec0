import os
from types import SimpleNamespace

import pytest

from dglkgmix.cli import threads


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Two of four cores for this process, PyTorch not loaded, no variable set."""
    for name in (*threads._WAITING, "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "")  # so that it is put back whatever is set here
        monkeypatch.delenv(name)
    monkeypatch.setattr(threads, "sys", SimpleNamespace(modules={}))
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.parametrize(
    ("running", "expected"),  # this process among them
    [(1, None), (3, None), (4, "1"), (5, "1"), (50, "1")],
)
def test_threads_are_the_cores_that_are_left(tmp_path, capsys, running, expected):
    load = tmp_path / "loadavg"
    load.write_text(f"0.00 0.00 0.00 {running}/512 4242\n")
    threads.use_free_cores(load)
    assert os.environ.get("OMP_NUM_THREADS") == expected
    said = capsys.readouterr().err
    assert said.count("\n") == (expected is not None)
    if expected:
        assert f"{running - 1} threads of other processes run on 4 cores: 1 thread" in said


def test_a_short_burst_takes_no_core(monkeypatch):
    class Bursts:
        lines = iter(["0 0 0 9/9 1", "0 0 0 1/9 1", *["0 0 0 9/9 1"] * 8])

        def read_text(self, **_):
            return next(self.lines)

    threads.use_free_cores(Bursts())
    assert "OMP_NUM_THREADS" not in os.environ


def test_the_users_number_of_threads_stays(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    threads.use_free_cores(tmp_path / "not read")
    assert (os.environ["OMP_NUM_THREADS"], capsys.readouterr().err) == ("2", "")


@pytest.mark.parametrize("name", threads._WAITING)
def test_the_users_way_to_wait_stays(monkeypatch, name):
    monkeypatch.setenv(name, "7")
    threads.wait_asleep()
    assert {n: os.environ.get(n) for n in threads._WAITING} == {
        **dict.fromkeys(threads._WAITING),
        name: "7",
    }


def test_openmp_reads_the_short_wait(run_python):
    """libgomp shows its settings when it loads: after `wait_asleep`, with PyTorch."""
    code = """
        from dglkgmix.cli.threads import wait_asleep
        wait_asleep()
        import torch
    """
    unset = dict.fromkeys(threads._WAITING)
    done = run_python(code, **unset, OMP_DISPLAY_ENV="verbose")
    assert "GOMP_SPINCOUNT = '30000'" in done.stderr
