"""docs/results.md is what its JSON files say, and they are what their own seeds say."""

from __future__ import annotations

import importlib.util
import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = sorted(
    path
    for path in (DOCS / "results").glob("*.json")
    if path.stem.startswith(("evidence-", "precision"))
)


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def results(request) -> dict[str, Any]:
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("build_results", DOCS / "results" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_results() -> None:
    assert FILES


def test_the_page_is_rendered_from_the_files(build, monkeypatch) -> None:
    monkeypatch.setattr(build, "save", lambda figure, path: None)
    assert build.PAGE.read_text(encoding="utf-8") == build.render()


def test_front_pages_open_with_the_headline_of_the_files(build) -> None:
    for front in build.FRONTS:
        text = front.read_text(encoding="utf-8")
        assert len(build.MARKED.findall(text)) == 1
        assert text == build.with_headline(front)


@pytest.mark.parametrize("path", sorted((DOCS / "results").glob("figure2-*.json")), ids=str)
def test_panels_are_other_groupings_of_the_same_ranks(path) -> None:
    """Weighted by queries, every curve and the grid give the overall MRR back."""
    found = json.loads(path.read_text(encoding="utf-8"))
    overall = found["account"]["overall"]
    curves = [*found["panels"]["entity"].values(), *found["panels"]["relation"].values()]
    grid = found["panels"]["joint"]
    cells = [
        {"mrr": mrr, "queries": queries}
        for pair in zip(grid["mrr"], grid["queries"], strict=True)
        for mrr, queries in zip(*pair, strict=True)
    ]
    for groups in (*(list(curve.values()) for curve in curves), cells):
        filled = [group for group in groups if group["queries"]]
        assert sum(group["queries"] for group in filled) == overall["queries"]
        total = sum(group["mrr"] * group["queries"] for group in filled)
        assert total / overall["queries"] == pytest.approx(overall["mrr"])


def test_every_file_on_the_page_is_there_and_named_with_its_command() -> None:
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    for path in FILES:
        assert f" experiment {path.stem} --out FOLDER` made `docs/results/{path.name}`" in page
    for picture in re.findall(r"\]\((results/[^)]+)\)", page):
        assert (DOCS / picture).exists(), picture


def test_every_cell_tells_how_it_was_made(results) -> None:
    for cell in results["cells"]:
        assert cell["state"] == "done", cell["run"]
        assert re.fullmatch("[0-9a-f]{64}", cell["ranks"])
        assert cell["settings"]["runtime"]["seed"] == cell["seed"]
        assert {"dglkgmix", "torch", "dgl", "numpy", "python"} <= set(cell["environment"])
        for stage in cell["budget"].values():
            assert stage["steps"] > 0
            assert stage["seconds"] > 0


def test_means_and_spreads_are_those_of_the_seeds(results) -> None:
    for group in results["groups"]:
        cells = [cell for cell in results["cells"] if axes(cell) == axes(group)]
        assert [cell["seed"] for cell in cells] == group["seeds"]
        assert_spread(group["account"], [cell["account"] for cell in cells])
        assert_spread(group["valid_mrr"], [cell["valid_mrr"] for cell in cells])
        if group["distances"] is not None:
            assert_spread(group["distances"], [cell["distances"] for cell in cells])
        for key in ("steps", "seconds"):
            sums = [sum(stage[key] for stage in cell["budget"].values()) for cell in cells]
            assert group["budget"][key] == pytest.approx(statistics.mean(sums))


def test_tables_show_the_figures_of_the_seeds(results, build) -> None:
    """Each cell of the tables of MRR, recomputed from the seeds' own figures."""
    shown = build.tables(results)
    for path, title in ((("overall",), "Overall"), (None, "MRR by tail-relation degree")):
        head, rows = parsed(shown[title])
        assert len(rows) == len(results["groups"])
        for row, group in zip(rows, results["groups"], strict=True):
            cells = [cell for cell in results["cells"] if axes(cell) == axes(group)]
            columns = {"MRR": path} if path else {b: ("bins", b) for b in results["bin_names"]}
            for column, where in columns.items():
                values = [at(cell["account"], (*where, "mrr")) for cell in cells]
                assert row[head.index(column)] == text_of(values)


def test_differences_are_those_of_the_means(results) -> None:
    """Of seeds averaged, a difference of means is the mean difference."""
    for group in results["groups"]:
        if group["test"] is None:
            continue
        same = {**axes(group), "strategy": results["baseline"]}
        (baseline,) = [other for other in results["groups"] if axes(other) == same]
        found = group["test"]["overall"]["mrr"]
        ours, theirs = (g["account"]["overall"]["mrr"]["mean"] for g in (group, baseline))
        assert found["difference"] == pytest.approx(ours - theirs, abs=1e-9)
        assert found["ci_low"] <= found["difference"] <= found["ci_high"]


def axes(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("data", "model", "encoder", "strategy", "options")}


def at(tree: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def assert_spread(found: Any, values: list[Any]) -> None:
    """``found`` has a mean and deviation wherever each of ``values`` has a number."""
    if isinstance(values[0], dict):
        for key in values[0]:
            assert_spread(found[key], [value[key] for value in values])
    elif isinstance(values[0], (int, float)):
        assert found["mean"] == pytest.approx(statistics.mean(values))
        deviation = statistics.stdev(values) if len(values) > 1 else None
        assert found["sd"] == (None if deviation is None else pytest.approx(deviation, abs=1e-9))


def text_of(values: list[float]) -> str:
    text = f"{statistics.mean(values):.4f}"
    return text if len(values) == 1 else f"{text}\u00a0±\u00a0{statistics.stdev(values):.4f}"


def parsed(table: str) -> tuple[list[str], list[list[str]]]:
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]
    return lines[0], lines[2:]
