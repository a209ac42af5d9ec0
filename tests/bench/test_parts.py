"""Each benchmark runs, tiny, and leaves JSON that says what it ran on."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from bench.__main__ import PARTS
from bench.cut import cut
from bench.growth import exponent
from bench.report import leave, pick, shown
from bench.training import CASES, strategies
from tests.conftest import ROOT


def run(*arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_part_leaves_a_table_and_json_without_names_of_places(tmp_path):
    done = run("bench.partners", "--tiny", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "world" in done.stdout
    text = (tmp_path / "partners.json").read_text()
    result = json.loads(text)
    assert result["machine"]["matmul_gflops_fp32"] > 0
    assert result["rows"][0]["ratio"] > 0
    assert str(tmp_path) not in text
    assert str(ROOT) not in text


@pytest.mark.long
@pytest.mark.parametrize("part", ["bilinear", "moved", *sorted({*PARTS} - {"partners"})])
def test_every_other_part_runs(part, tmp_path):
    done = run(f"bench.{part}", "--tiny", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / f"{part}.json").read_text())["rows"]


@pytest.mark.long
def test_the_cuda_script_goes_through_its_steps_without_a_gpu(tmp_path):
    out = tmp_path / "cuda.json"
    done = run("bench.cuda", str(tmp_path), "--device", "cpu", "--dry", "--out", str(out))
    assert done.returncode == 0, done.stderr
    parts = json.loads(out.read_text())["parts"]
    assert list(parts) == ["machine", "agreement", "epochs", "training"]
    assert not any("error" in part for part in parts.values())


def test_a_cut_holds_all_triples_between_its_entities_but_some_of_the_last():
    rows = {(f"e{i}", "r", f"e{j}") for i in range(6) for j in range(6) if i != j}
    found = cut(rows, 10, seed=1)
    assert len(set(found)) == 10
    assert set(found) < rows
    degrees = Counter(name for head, _, tail in found for name in (head, tail))
    assert sorted(degrees.values()) == [4, 5, 5, 6]  # 6 of 3 entities, then 4 of the fourth's 6
    assert cut(rows, 10, seed=1) == found != cut(rows, 10, seed=2)


def test_the_cuda_script_says_what_its_folder_lacks(tmp_path):
    done = run("bench.cuda", str(tmp_path))
    assert done.returncode == 2
    assert "lacks fb15k-237 and codex-s" in done.stderr
    done = run("bench.cuda", str(tmp_path / "nowhere"))
    assert "is no folder" in done.stderr


def test_parts_that_are_there_are_passed_over(tmp_path):
    for part in PARTS:
        (tmp_path / f"{part}.json").write_text("{}")
    done = run("bench", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("already") == len(PARTS)


def test_cases_are_told_apart():
    names = [(case.case, case.graph) for case in (*CASES, *strategies())]
    assert len(set(names)) == len(names)


def test_the_exponent_is_the_slope_in_logarithms():
    assert exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)


def test_what_a_table_shows(tmp_path, capsys):
    row = {"a": {"b": 0.12345}, "c": 1234, "d": 123.4}
    assert [shown(pick(row, column)) for column in ("a.b", "c", "d", "a.x", "c.y")] == [
        "0.123", "1,234", "123", "", "",
    ]  # fmt: skip
    leave("x", tmp_path, "how", [row], ["a.b", "c"])
    assert capsys.readouterr().out.splitlines()[3:5] == ["a.b    c", "0.123  1,234"]
