import math

import pytest

from dglkgmix.report.figures.training_curves import (
    curve,
    draw_training_curves,
    stage_starts,
)

ROWS = [
    {"stage": "pretrain", "epoch": 1, "loss": 4.0, "valid_mrr": None},
    {"stage": "pretrain", "epoch": 2, "loss": 3.0, "valid_mrr": 0.25},
    {"stage": "main", "epoch": 1, "loss": 5.0, "valid_mrr": math.nan},
    {"stage": "main", "epoch": 2, "loss": 2.0, "valid_mrr": 0.5},
]


def test_epochs_run_on_over_stages_and_gaps_are_left_out():
    assert curve(ROWS, "loss") == [(1, 4.0), (2, 3.0), (3, 5.0), (4, 2.0)]
    assert curve(ROWS, "valid_mrr") == [(2, 0.25), (4, 0.5)]
    assert curve([], "loss") == []
    assert stage_starts(ROWS) == [3]
    assert stage_starts(ROWS[:2]) == stage_starts([]) == []


def test_a_line_a_run_and_a_mark_where_a_stage_starts():
    figure, words = draw_training_curves({"a": ROWS, "b": ROWS[:2], "empty": []}, "valid_mrr")
    (axes,) = figure.axes
    lines = [line.get_xydata().tolist() for line in axes.lines]
    assert lines == [[[2, 0.25], [4, 0.5]], [[2.5, 0], [2.5, 1]], [[2, 0.25]], []]
    assert axes.get_ylabel() == "Validation MRR"
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["a", "b", "empty"]
    ends = "a: 0.25 at epoch 2 to 0.5 at 4, best 0.5. b: 0.25 at epoch 2 to 0.25 at 2, best 0.25."
    assert words == f"Validation MRR over epochs. {ends}"
    assert draw_training_curves({"a": ROWS}, "loss")[1] == (
        "Training loss over epochs. a: 4 at epoch 1 to 2 at 4."
    )


@pytest.mark.parametrize(
    ("losses", "scale", "label"),
    [
        ((50.0, 1.0, 0.5), "log", "Training loss (logarithmic)"),
        ((4.5, 1.0, 0.5), "linear", "Training loss"),
        ((50.0, 1.0, 0.0), "linear", "Training loss"),
        ((), "linear", "Training loss"),
    ],
)
def test_a_first_epoch_does_not_flatten_the_rest(losses, scale, label):
    rows = [{"stage": "a" if i else "b", "loss": loss} for i, loss in enumerate(losses)]
    axes = draw_training_curves({"run": rows}, "loss")[0].axes[0]
    assert (axes.get_yscale(), axes.get_ylabel()) == (scale, label)
    shares, _ = draw_training_curves(
        {"run": [{**row, "valid_mrr": row["loss"]} for row in rows]}, "valid_mrr"
    )
    assert shares.axes[0].get_yscale() == "linear"
