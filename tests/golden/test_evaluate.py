"""Queries by bin, counted independently, through ``dglkgmix evaluate``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dglkgmix.cli.evaluate import evaluate
from tests.cli.conftest import call_json

TEST = {
    "fb15k-237": [6_881, 13_658, 8_731, 11_662],
    "nell-995": [3_483, 649, 409, 1_095],
    "codex-m": [3_597, 7_061, 2_740, 7_224],
    "codex-s": [370, 982, 1_006, 1_298],
}
VALID = {
    "fb15k-237": [5_785, 11_806, 7_475, 10_004],
    "nell-995": [574, 191, 85, 236],
    "codex-m": [3_667, 6_993, 2_601, 7_359],
    "codex-s": [377, 942, 1_058, 1_277],
}


def counts(found):
    assert list(found["bins"]) == ["zero", "low", "medium", "high"]
    return [group["queries"] for group in found["bins"].values()]


def perfect_ranks(source: Path, split: str, path: Path) -> Path:
    """A file of another tool that ranks every answer first."""
    lines = (source / f"{split}.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    size, rows = len(lines), [line.split("\t") for line in lines]
    head, relation, tail = ([row[i] for row in rows] for i in range(3))
    columns = {"head": head * 2, "relation": relation * 2, "tail": tail * 2}
    columns |= {"direction": ["tail"] * size + ["head"] * size, "rank": [1] * 2 * size}
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        *((name, "test", expected) for name, expected in TEST.items()),
        ("codex-s", "valid", VALID["codex-s"]),
    ],
)
def test_bins_of_foreign_ranks(shared_data, tmp_path, name, split, expected):
    ranks = perfect_ranks(shared_data / name, split, tmp_path / "ranks.parquet")
    found = call_json(evaluate, "--ranks", ranks, "--data", shared_data / name, "--split", split)
    assert counts(found) == expected
    assert found["overall"]["queries"] == sum(expected)
    assert found["overall"]["mrr"] == 1


def test_bins_of_a_scorer_s_own_ranks(shared_data):
    found = call_json(evaluate, "--baseline", "popularity", "--data", shared_data / "codex-s")
    assert counts(found) == TEST["codex-s"]
    mrr = [group["mrr"] for group in found["bins"].values()]
    assert mrr == sorted(mrr)  # a popularity contest favours the popular
    assert mrr[0] < 0.001 < 0.4 < mrr[-1]


@pytest.mark.long
@pytest.mark.parametrize("split", ["test", "valid"])
@pytest.mark.parametrize("name", ["fb15k-237", "nell-995", "codex-m"])
def test_bins_of_a_scorer_s_own_ranks_on_the_others(shared_data, name, split):
    source = shared_data / name
    found = call_json(evaluate, "--baseline", "popularity", "--data", source, "--split", split)
    assert counts(found) == (TEST if split == "test" else VALID)[name]
