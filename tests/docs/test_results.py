"""The pages of results are what their JSON files say, and these are what their own seeds say."""

import json
import re
import statistics
from itertools import pairwise

import pytest

from tests.docs.scripts import DOCS, script

FILES = sorted(
    path
    for path in (DOCS / "results").glob("*.json")
    if path.stem.startswith(("evidence-", "precision"))
)


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def results(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def build():
    return script("results/build.py")


def test_there_are_results():
    assert FILES


def test_pages_are_rendered_from_the_files(build, monkeypatch):
    monkeypatch.setattr(build, "save", lambda figure, path: None)
    for page, template in build.PAGES.items():
        assert page.read_text(encoding="utf-8") == build.render(template, page)


def test_front_pages_open_with_the_headline_of_the_files(build):
    for front in build.FRONTS:
        text = front.read_text(encoding="utf-8")
        assert len(build.MARKED.findall(text)) == 1
        assert text == build.with_headline(front)


@pytest.mark.parametrize("path", sorted((DOCS / "results").glob("figure2-*.json")), ids=str)
def test_panels_are_other_groupings_of_the_same_ranks(path):
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


def test_every_file_is_on_a_page_with_its_command(build):
    pages = {page: page.read_text(encoding="utf-8") for page in build.PAGES}
    for path in FILES:
        made = f" experiment {path.stem} --out FOLDER` made `docs/results/{path.name}`"
        assert any(made in text for text in pages.values()), path
    for page, text in pages.items():
        for picture in re.findall(r"\]\(([^)]+\.png)\)", text):
            assert (page.parent / picture).exists(), picture


def test_a_change_is_bold_where_interval_and_p_value_agree(build):
    for low, p_value, shown in ((0.001, 0.01, "**+0.0020**"), (0.001, 0.2, "+0.0020")):
        found = {"difference": 0.002, "ci_low": low, "ci_high": 0.003, "p_value": p_value}
        assert build._change(found) == shown
    found = {"difference": -0.002, "ci_low": -0.004, "ci_high": 0.0001, "p_value": 0.01}
    assert build._change(found) == "\u22120.0020"


def test_every_cell_tells_how_it_was_made(results):
    for cell in results["cells"]:
        assert cell["state"] == "done", cell["run"]
        assert re.fullmatch("[0-9a-f]{64}", cell["ranks"])
        assert cell["settings"]["runtime"]["seed"] == cell["seed"]
        assert {"dglkgmix", "torch", "dgl", "numpy", "python"} <= set(cell["environment"])
        for stage in cell["budget"].values():
            assert stage["steps"] > 0
            assert stage["seconds"] > 0


def test_means_and_spreads_are_those_of_the_seeds(results):
    for group in results["groups"]:
        cells = cells_of(results, axes(group))
        assert [cell["seed"] for cell in cells] == group["seeds"]
        for key in ("account", "valid_mrr", "valid_bins", "distances"):
            assert_spread(group[key], [cell[key] for cell in cells])
        for key in ("steps", "seconds"):
            sums = [sum(stage[key] for stage in cell["budget"].values()) for cell in cells]
            assert group["budget"][key] == pytest.approx(statistics.mean(sums))


def test_tables_show_the_figures_of_the_seeds(results, build):
    """Each cell of the tables of MRR, recomputed from the seeds' own figures."""
    shown = build.tables(results)
    for path, title in ((("overall",), "Overall"), (None, "MRR by tail-relation degree")):
        head, rows = parsed(shown[title])
        assert len(rows) == len(results["groups"])
        for row, group in zip(rows, results["groups"], strict=True):
            cells = cells_of(results, axes(group))
            columns = {"MRR": path} if path else {b: ("bins", b) for b in results["bin_names"]}
            for column, where in columns.items():
                values = [at(cell["account"], (*where, "mrr")) for cell in cells]
                assert row[head.index(column)] == text_of(values)


def test_differences_are_those_of_the_means(results):
    """Of seeds averaged, a difference of means is the mean difference; in every bin, too."""
    places = [("overall",), *(("bins", name) for name in results["bin_names"])]
    for ours, theirs, test in compared(results):
        for where in places:
            found = at(test, (*where, "mrr"))
            means = [mean_mrr(results, side, where) for side in (ours, theirs)]
            assert found["difference"] == pytest.approx(means[0] - means[1], abs=1e-9)
            assert found["ci_low"] <= found["difference"] <= found["ci_high"]


def test_intervals_hold_their_means(results):
    for group in results["groups"]:
        for name, found in group["account"]["bins"].items():
            low, high = group["intervals"][name]
            assert low < found["mrr"]["mean"] < high


def test_words_show_what_the_seeds_say(results, build, monkeypatch):
    """Differences, errors and distances in the text, from the cells."""
    monkeypatch.setattr(build, "load", lambda name: results)
    for ours, theirs, test in compared(results):
        changed = [axis for axis in ours if ours[axis] != theirs[axis] and axis != "options"]
        if changed != ["strategy"]:
            continue
        shown = build.difference("", ours["strategy"], theirs["strategy"], "low")
        means = [mean_mrr(results, side, ("bins", "low")) for side in (ours, theirs)]
        assert shown.startswith(f"{means[0] - means[1]:+.4f} [".replace("-", "\u2212"))
        assert f"{test['bins']['low']['mrr']['ci_high']:+.4f}]".replace("-", "\u2212") in shown
    for group in results["groups"]:
        cells = cells_of(results, axes(group))
        values = [cell["account"]["ece"]["low"] for cell in cells]
        wanted = f"{statistics.mean(values):.3f}" if group["probabilities"] else "–"
        given = {axis: group[axis] for axis in ("model", "encoder", "options")}
        assert build.ece("", group["strategy"], "low", **given) == wanted
        if group["distances"] is not None:
            for side in ("head", "relation"):
                mean = statistics.mean(cell["distances"][side] for cell in cells)
                assert build.distance("", group["strategy"], side, **given) == f"{mean:.2f}"


def test_softmax_and_translations_give_no_probabilities(results):
    for cell in results["cells"]:
        loss, decoder = (
            cell["settings"][t][k] for t, k in (("training", "loss"), ("model", "decoder"))
        )
        assert cell["probabilities"] is (loss == "bce" and decoder != "transe")


def test_hours_count_every_training_once(results, build, monkeypatch):
    monkeypatch.setattr(build, "load", lambda name: results)
    seconds = {}
    for cell in results["cells"]:
        for stage, budget in cell["budget"].items():
            run = cell["settings"]["pretrain"]["run"] if stage == "pretrain" else cell["run"]
            seconds[run, "train" if stage == "pretrain" else stage] = budget["seconds"]
    assert f" {sum(seconds.values()) / 3600:.1f} hours of training." in build.made("")


def test_every_table_of_the_page_is_one_of_its_file(results, build, monkeypatch):
    """Lines keep their cells, but for columns that say the same in every line."""
    monkeypatch.setattr(build, "load", lambda name: results)
    for title, whole in build.tables(results).items():
        head, rows = parsed(whole)
        caption, _, table = build.table("", title).split("\n", 2)
        assert caption.startswith("**")
        shown_head, shown = parsed(table)
        kept = [head.index(name) for name in shown_head]
        assert shown == [[row[i] for i in kept] for row in rows]
        for i in set(range(len(head))) - set(kept):
            assert len({row[i] for row in rows}) == 1


def test_what_is_taken_is_finished(build, tmp_path):
    text = json.dumps({"counts": {"done": 1, "pending": 1}, "cells": [{}, {}]})
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match="not finished"):
        build.take(tmp_path, "never")


def test_headings_of_the_pages_stand_apart(build):
    for page in build.PAGES:
        for before, line in pairwise(page.read_text(encoding="utf-8").splitlines()):
            assert not line.startswith("#") or not before.strip(), line


def test_figure_2_is_of_the_model_in_the_table():
    found, cells = (
        json.loads((DOCS / "results" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("figure2-fb15k-237", "evidence-fb15k-237-conve")
    )
    (cell,) = [c for c in cells["cells"] if c["strategy"] == "standard + SWA"]
    assert found["ranks"] == cell["ranks"]


def compared(results):
    """Every test: the axes of both sides, and what it found."""
    for group in results["groups"]:
        if group["test"] is not None:
            ours = axes(group)
            yield ours, {**ours, "strategy": results["baseline"]}, group["test"]
    for pair in results["comparisons"]:
        yield axes(pair), axes(pair["against"]), pair["test"]


def cells_of(results, setting):
    return [cell for cell in results["cells"] if axes(cell) == setting]


def mean_mrr(results, setting, where):
    cells = cells_of(results, setting)
    return statistics.mean(at(cell["account"], (*where, "mrr")) for cell in cells)


def axes(entry):
    return {key: entry[key] for key in ("data", "model", "encoder", "strategy", "options")}


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def assert_spread(found, values):
    """``found`` has a mean and deviation where each of ``values`` has a number, else None."""
    if None in values:
        assert found is None
    elif isinstance(values[0], dict):
        for key in values[0]:
            assert_spread(found[key], [value[key] for value in values])
    elif isinstance(values[0], (int, float)):
        assert found["mean"] == pytest.approx(statistics.mean(values))
        deviation = statistics.stdev(values) if len(values) > 1 else None
        assert found["sd"] == (None if deviation is None else pytest.approx(deviation, abs=1e-9))


def text_of(values):
    text = f"{statistics.mean(values):.4f}"
    return text if len(values) == 1 else f"{text}\u00a0±\u00a0{statistics.stdev(values):.4f}"


def parsed(table):
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]
    return lines[0], lines[2:]
