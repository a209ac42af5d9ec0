"""The method's table of facts, through the commands, for the four data sets it gives."""

import json
from pathlib import Path

import pytest

from dglkgmix.cli.main import main

BINS = ("zero", "low", "medium", "high")
# entities, relations; train, valid, test; pairs; test bins; valid bins; below, without, synthetic
FACTS = {
    "fb15k-237": (
        (14_541, 237), (272_115, 17_535, 20_466), 149_689,
        (6_881, 13_658, 8_731, 11_662), (5_785, 11_806, 7_475, 10_004),
        (193_274, 365, 955_377),
    ),
    "nell-995": (
        (74_536, 200), (149_678, 543, 2_818), 132_643,
        (3_483, 649, 409, 1_095), (574, 191, 85, 236),
        (154_094, 42_764, 361_303),
    ),
    "codex-m": (
        (17_050, 51), (185_584, 10_310, 10_311), 101_136,
        (3_597, 7_061, 2_740, 7_224), (3_667, 6_993, 2_601, 7_359),
        (127_213, 0, 636_012),
    ),
    "codex-s": (
        (2_034, 42), (32_888, 1_827, 1_828), 11_867,
        (370, 982, 1_006, 1_298), (377, 942, 1_058, 1_277),
        (13_126, 0, 65_630),
    ),
}  # fmt: skip


@pytest.fixture(params=list(FACTS))
def name(request: pytest.FixtureRequest, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DGLKGMIX_DATA", str(shared_data))
    chosen: str = request.param
    return chosen


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main([*arguments, "--json"]) == 0
    result: dict[str, object] = json.loads(capsys.readouterr().out)
    return result


def test_sizes(name: str, capsys: pytest.CaptureFixture[str]):
    info = run("data", "info", name, capsys=capsys)
    keys = ("entities", "relations", "train", "valid", "test")
    assert tuple(info[key] for key in keys) == (*FACTS[name][0], *FACTS[name][1])
    assert info["duplicates"] == 0
    assert info["overlap"] == 0
    if name == "fb15k-237":
        assert info["self_loops"] == 1_625


def test_degrees(name: str, capsys: pytest.CaptureFixture[str]):
    found = run("degrees", name, capsys=capsys)
    _, (train, _, _), pairs, test, valid, mixing = FACTS[name]
    bins = found["bins"]
    assert isinstance(bins, dict)
    assert found["pairs"] == pairs
    assert bins["test"] == dict(zip(BINS, test, strict=True))
    assert bins["valid"] == dict(zip(BINS, valid, strict=True))
    assert sum(bins["train"].values()) == 2 * train
    keys = ("below_threshold", "without_partner", "synthetic_per_epoch")
    assert tuple(found[key] for key in keys) == mixing


def test_queries_are_as_many_as_pairs(shared_data: Path):
    """Distinct (head, relation) queries, counted by the index instead of by degrees."""
    from dglkgmix.kg.sources import load

    assert len(load(shared_data / "codex-s").train_index) == FACTS["codex-s"][2]
