"""docs/performance.md is what the benchmarks' JSON says, cell by cell."""

import json
import re

import pytest

from tests.docs.scripts import script

MACHINE = {
    "processor": "A", "cores": 2, "threads": 2, "native_bf16": False, "matmul_gflops_fp32": 100.4,
    "torch": "2.13.0", "python": "3.11.7",
}  # fmt: skip
TRAINING = [
    {
        "case": "ConvE 1-N", "graph": "g", "batch": 128, "ratio": 2.0,
        "ours": {"epoch_seconds": 60.04}, "textbook": {"epoch_seconds": 120.1},
    },
    {"case": "TransE", "graph": "g", "batch": 64, "ours": {"epoch_seconds": 1234.5}},
    {"case": "mixup", "graph": "h", "batch": 64, "ours": {"epoch_seconds": 0.25},
     "to_standard": 1.5},
]  # fmt: skip


@pytest.fixture
def build():
    return script("performance.py")


def cells(text):
    """The rows of all Markdown tables, without heads."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    split = [[cell.strip() for cell in line[1:-1].split("|")] for line in rows]
    return [row for i, row in enumerate(split) if not _is_head(split, i)]


def _is_head(rows, i):
    rule = re.compile("-+")
    return bool(rule.fullmatch(rows[i][0])) or (
        i + 1 < len(rows) and bool(rule.fullmatch(rows[i + 1][0]))
    )


def test_the_page_is_rendered_from_the_files_that_are_there(build):
    """Every cell is computed anew; where nothing has been measured there is no page."""
    assert build.PAGE.exists() == bool(list(build.FOLDER.glob("*.json")))
    if build.PAGE.exists():
        assert build.PAGE.read_text(encoding="utf-8") == build.render()


def test_sections_that_were_not_measured_are_left_out(build, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    result = {"bench": "training", "machine": MACHINE, "rows": TRAINING}
    (tmp_path / "training.json").write_text(json.dumps(result))
    page = build.render().removesuffix(build.TAIL)
    assert re.findall("^## (.*)", page, re.MULTILINE) == ["Training"]
    assert "A, 2 cores, 2 threads, without native bf16; 100 GFLOP/s" in page
    assert cells(page) == [
        ["ConvE 1-N", "g", "128", "60 s", "120 s", "2.00×"],
        ["TransE", "g", "64", "1,234 s", "", ""],
        ["mixup", "h", "250 ms", "1.50×"],
    ]


def test_every_part_has_its_words_and_its_section(build):
    from bench.__main__ import PARTS

    assert {name for _, name, _ in build.SECTIONS} == set(PARTS) == set(build.WORDS)


def test_units(build):
    shown = [build.seconds(value) for value in (12345.6, 75.04, 0.0123, 4.5e-5, 3e-8, None)]
    assert shown == ["12,346 s", "75 s", "12.3 ms", "45 µs", "30 ns", ""]
