import csv
import io

from dglkgmix.experiments.results_text import to_csv, to_markdown

NUMBER = {"mean": 0.25, "sd": 0.01, "seeds": 2}
GROUP = dict.fromkeys(("mrr", "mr", "hits@1", "hits@3", "hits@10", "amri"), NUMBER)
GROUP |= {"queries": {"mean": 1234.0, "sd": 0.0, "seeds": 2}}
TRAIN = {"steps": 10.0, "seconds": 2.5}
TEST = {"difference": -0.0123, "ci_low": -0.02, "ci_high": 0.001, "p_value": 0.0001}


def group(strategy, **changes):
    entry = {
        "data": "a_b",
        "model": "conve",
        "encoder": "lookup",
        "strategy": strategy,
        "options": {},
        "seeds": [0, 1],
        "account": {
            "overall": GROUP,
            "bins": {"low": GROUP},
            "ece": {"overall": NUMBER, "low": None},
            "calibration": None,
        },
        "valid_mrr": NUMBER,
        "distances": None,
        "budget": {**TRAIN, "stages": {"train": TRAIN}},
        "test": None,
        "paper": {},
        "valid_bins": {"low": NUMBER},
        "probabilities": True,
    }
    return entry | changes


def results(*groups, cells=(), **changes):
    found = {
        "experiment": "a*b",
        "about": "about",
        "finding": "",
        "version": "1",
        "bins": [1],
        "bin_names": ["low"],
        "baseline": "standard",
        "counts": {"done": 3, "failed": 0, "pending": 1},
        "groups": list(groups),
        "comparisons": [],
        "cells": list(cells),
    }
    return found | changes


def section(text, title):
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_papers_figures_stand_beside_ours_and_are_marked():
    paper = {"overall.mrr": 0.343, "bins.low.mrr": 0.139, "ece.low": 0.08}
    text = to_markdown(results(group("standard"), group("mixup", paper=paper)))
    rows = [line.split(" | ") for line in section(text, "Overall").strip().splitlines()]
    column = rows[0].index("MRR (paper)")
    assert rows[0][column - 1] == "MRR"
    assert (rows[2][column], rows[3][column]) == ("", "0.343")
    assert rows[3][column - 1] == "0.2500\u00a0±\u00a00.0100"
    assert "Hits@1 (paper)" not in rows[0]
    assert "low (paper)" in section(text, "MRR by tail-relation degree")
    assert "0.08" in section(text, "Calibration error over degree bins")


def test_tests_show_difference_interval_and_p_value():
    tested = {"overall": {"mrr": TEST}, "bins": {"low": {"mrr": dict.fromkeys(TEST)}}, "seeds": [1]}
    text = to_markdown(results(group("mixup", test=tested)))
    part = section(text, "Against standard")
    # Of the group's two seeds the baseline has one.
    assert "| mixup | 1 | -0.0123 [-0.0200, +0.0010], p < 0.001 | – |" in part
    assert "Against" not in to_markdown(results(group("mixup")))


def test_further_comparisons_name_what_differs():
    def tested(difference):
        return {"mrr": TEST | {"difference": difference}}

    test = {"overall": tested(0.5), "bins": {"low": tested(0.1), "high": tested(0.2)}}
    axes = ("data", "model", "encoder", "strategy", "options")
    other = {axis: group("a_b*", encoder="rgcn")[axis] for axis in axes}
    pair = group("mixup") | {"seeds": [0], "test": test, "against": other}
    account = {"bins": {"low": GROUP, "high": GROUP}, "ece": {}, "overall": GROUP}
    both = {"low": NUMBER, "high": NUMBER}
    shown = group("x", account=account | {"calibration": None}, valid_bins=both)
    text = to_markdown(results(shown, comparisons=[pair], bin_names=["low", "high"]))
    head, _, row = section(text, "Comparisons").strip().splitlines()[-3:]
    assert head == "| data | model | strategy | seeds | against | overall | low | high |"
    assert row.startswith("| a\\_b | conve | mixup | 1 | rgcn, a\\_b\\* | +0.5000 [")
    assert row.index("+0.1000") < row.index("+0.2000")
    assert "Comparisons" not in to_markdown(results(group("x")))


def test_a_calibration_error_of_what_is_no_probability_is_left_out():
    text = to_markdown(results(group("x"), group("y", probabilities=False)))
    part = section(text, "Calibration error over degree bins")
    assert "σ(score) is no probability" in part
    ours, theirs = part.strip().splitlines()[-2:]
    assert ours.endswith("| 0.2500\u00a0±\u00a00.0100 | – |")
    assert theirs.endswith("| – | – |")
    assert "σ(score)" not in to_markdown(results(group("x")))
    assert "Calibration" not in to_markdown(results(group("y", probabilities=False)))


def test_validation_by_bin_stands_by_itself():
    text = to_markdown(results(group("x"), group("y", valid_bins={"low": None})))
    part = section(text, "Validation MRR by tail-relation degree")
    assert part.strip().splitlines()[-1].endswith("| 2 | – |")
    assert "0.2500" in part


def test_stages_have_their_own_columns_in_the_order_of_training():
    stages = {"train": {"steps": 7, "seconds": 2.0}, "pretrain": {"steps": 3, "seconds": 0.5}}
    budget = {"steps": 10, "seconds": 2.5, "stages": stages}
    part = section(to_markdown(results(group("x"), group("mixup", budget=budget))), "Budget")
    head, _, first, second = part.strip().splitlines()[:4]
    assert head.endswith(
        "| steps | seconds | pretrain: steps | pretrain: seconds | train: steps | train: seconds |"
    )
    assert first.endswith("| 10 | 2.5 |  |  | 10 | 2.5 |")
    assert second.endswith("| 10 | 2.5 | 3 | 0.5 | 7 | 2.0 |")


def test_names_cannot_break_the_table():
    text = to_markdown(results(group("a|b*c", options={"strategy.name": "<x>"})))
    assert r"| a\_b | conve | a\|b\*c | \<x\> | 2 |" in text
    assert text.startswith("# a\\*b\n")


def test_failures_and_what_is_left_are_told():
    cell = group("focal") | {"seed": 1, "state": "failed", "error": "loss is *nan*"}
    text = to_markdown(
        results(group("standard"), cells=[cell] * 5, counts={"done": 3, "failed": 1, "pending": 1})
    )
    assert "3 of 5 cells done, 1 failed, 1 pending." in text
    assert r"- a\_b, conve, focal, seed 1: loss is \*nan\*" in section(text, "Failed")
    assert "Failed" not in to_markdown(results(group("standard")))


def test_distances_and_the_finding_where_there_are_any():
    distances = {"head": NUMBER, "relation": None}
    shown = group("x", distances=distances, paper={"distances.head": 1.18})
    text = to_markdown(results(shown, finding="It holds."))
    assert "| 0.2500\u00a0±\u00a00.0100 | 1.18 | – |" in section(text, "Mean embedding distance")
    assert "It holds." in section(text, "The paper's finding")
    assert "distance" not in to_markdown(results(group("x")))


def test_nothing_done_yet_is_no_table():
    empty = group("x", account=None, seeds=[], budget=None, valid_mrr=None)
    text = to_markdown(results(empty))
    assert "|" not in text
    assert to_csv(results(empty)).strip() == ""


def test_csv_has_a_line_a_group_with_unrounded_numbers():
    tested = {"overall": {"mrr": TEST}, "bins": {"low": {"mrr": TEST}}, "seeds": [1]}
    found = results(
        group("standard"),
        group("mixup", test=tested, options={"training.lr": 0.1}, paper={"overall.mrr": 0.5}),
    )
    first, second = csv.DictReader(io.StringIO(to_csv(found)))
    assert (first["strategy"], first["seeds"], first["mrr"], first["mrr_sd"]) == (
        *("standard", "0 1", "0.25", "0.01"),
    )
    assert (first["difference_low"], first["training.lr"]) == ("", "")
    assert (second["difference_low"], second["p_value_overall"]) == ("-0.0123", "0.0001")
    assert (second["training.lr"], second["paper overall.mrr"]) == ("0.1", "0.5")
    assert first["ece_low"] == ""
    assert (first["test_seeds"], second["test_seeds"]) == ("", "1")
    (line,) = csv.DictReader(io.StringIO(to_csv(results(group("x", probabilities=False)))))
    assert line["ece_overall"] == ""


def test_probabilities_before_and_after_scaling():
    title = "Probabilities before and after scaling"
    both = dict.fromkeys(("ece", "brier", "log_loss"), NUMBER)
    account = group("x")["account"] | {"calibration": {"before": both, "after": both}}
    part = section(to_markdown(results(group("x", account=account), group("y"))), title)
    assert "| ECE, before | ECE, after | Brier, before |" in part
    assert part.count("0.2500\u00a0±\u00a00.0100") == 6
    assert "Probabilities" not in to_markdown(results(group("y")))
    odd = section(to_markdown(results(group("x", account=account, probabilities=False))), title)
    assert "σ(score) is no probability" in odd
    assert "| – | 0.2500\u00a0±\u00a00.0100 | – |" in odd


def test_without_test_triples_validation_and_budget_are_left():
    text = to_markdown(results(group("x", account=None)))
    assert "0.2500" in section(text, "Overall")
    assert "0.2500" in section(text, "Validation MRR by tail-relation degree")
    assert "| 10 | 2.5 |" in section(text, "Budget")
    assert "## MRR by" not in text
    assert "Calibration" not in text
