"""The program behind ``make reliability``, in little, and the log of its full run."""

import json
import random
import subprocess
import sys

import pytest

from dglkgmix.kg import readers_text
from tests.conftest import ROOT
from tests.reliability.fuzz_text import SEEDS, one_input
from tests.reliability.mutate import CHANGES, mutated
from tests.reliability.summary import figures

LOG = ROOT / "docs" / "results" / "reliability.jsonl"
PAGE = ROOT / "docs" / "reliability.md"


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def run(out, **numbers):
    options = [f"--{name}={value}" for name, value in numbers.items()]
    command = [sys.executable, "-m", "tests.reliability", *options, f"--out={out}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    return records(out)


@pytest.mark.long
@pytest.mark.parametrize("seed", [random.SystemRandom().randrange(10**6)], ids=["a new seed"])
def test_a_kill_loses_nothing(tmp_path, seed):
    """A training, killed at a moment that no earlier run has tried."""
    whole, *tries = run(tmp_path / "log", kills=1, faults=0, inputs=0, seed=seed)
    assert sum(record["exit"] == -9 for record in tries) == 1
    for record in tries:
        assert set(record) >= {"seed", "moment", "exit", "weights"}
        assert record["weights"] == whole["weights"]


@pytest.mark.long
def test_every_fault_and_some_foreign_inputs(tmp_path):
    found = figures(run(tmp_path / "log", kills=0, faults=1, inputs=200))
    assert found["faults"] == 6
    assert found["inputs"] == 5 * 200
    assert found["losses"] == 0


def test_the_full_run_lost_nothing():
    found = figures(records(LOG))
    assert found["losses"] == 0
    assert found["kills"] >= 50
    kinds = [name for name in found if name.startswith("faults: ")]
    assert len(kinds) == 6
    assert len({record["weights"] for record in records(LOG) if record.get("weights")}) == 1


def test_the_page_states_the_figures_of_the_log():
    text = PAGE.read_text(encoding="utf-8")
    for name, value in figures(records(LOG)).items():
        label = name.rpartition(": ")[2]
        assert f"| {label} | {value:,} |" in text, name


def test_a_loss_is_counted():
    log = [
        {"kind": "kill", "exit": -9, "lost": ""},
        {"kind": "kill", "exit": 0, "lost": "other weights"},
        {"kind": "fault", "what": "disk full", "lost": ""},
        {"kind": "foreign", "what": "settings", "inputs": 500, "lost": ""},
    ]
    found = figures(log)
    assert (found["kills"], found["faults"], found["inputs"], found["losses"]) == (1, 1, 500, 1)


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (b"", "read"),
        (SEEDS[0], "read"),
        (SEEDS[1], "read"),
        (SEEDS[2], "read"),
        (SEEDS[3], "refused"),
        (b"\0a\tr\n", "refused"),
        (b"\x0ca\tr\tb\n", "refused"),  # names of columns, and no header
        (b"\xfc" + b"a\tr\tb\n" * 9, "refused"),
    ],
)
def test_what_the_fuzzer_feeds(monkeypatch, data, outcome):
    monkeypatch.setattr(readers_text, "LONGEST_ROW", readers_text.LONGEST_ROW)
    assert one_input(data) == outcome


@pytest.mark.parametrize("change", CHANGES)
def test_changes_take_any_bytes(change):
    chance = random.Random(0)
    for data in (b"", b"a", b"some\tbytes\n" * 10):
        outcomes = {change(chance, data, [b"other"]) for _ in range(50)}
        assert all(isinstance(outcome, bytes) for outcome in outcomes)
        assert len(outcomes) > 1 or not data
    assert mutated(random.Random(3), b"abc") == mutated(random.Random(3), b"abc")
