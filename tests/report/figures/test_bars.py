from itertools import pairwise

import pytest

from dglkgmix.report.figures.bars import Estimate, draw_distances, draw_mrr_by_bin

RUNS = {
    "standard": {"zero": Estimate(0.1, 0.08, 0.12, 1234), "low": Estimate(None, queries=0)},
    "mixup": {"zero": Estimate(0.2, 0.15, 0.25, 1234), "low": Estimate(None, queries=0)},
}


def test_bars_with_their_whiskers_bins_with_their_queries_and_runs_with_their_names():
    figure, words = draw_mrr_by_bin(RUNS)
    (axes,) = figure.axes
    bars = sorted(axes.patches, key=lambda bar: bar.get_x())
    assert [bar.get_height() for bar in bars] == [0.1, 0.2, 0.0, 0.0]
    assert all(a.get_x() + a.get_width() <= b.get_x() + 1e-9 for a, b in pairwise(bars))
    whiskers = [tuple(line.get_ydata()) for line in axes.lines]
    assert whiskers == [(0.08, 0.12), (0.15, 0.25)]
    for line, bar in zip(axes.lines, bars, strict=False):
        assert line.get_xdata()[0] == pytest.approx(bar.get_x() + bar.get_width() / 2)
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert labels == ["zero\n1,234 queries", "low\n0 queries"]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["standard", "mixup"]
    low, high = axes.get_ylim()
    assert (low, high > 0.25) == (0, True)  # whiskers end within the axes
    assert words == (
        "MRR by tail-relation degree of the answer. "
        "standard: zero 0.100 (0.080 to 0.120), low no queries. "
        "mixup: zero 0.200 (0.150 to 0.250), low no queries."
    )


def test_one_run_needs_no_legend_and_many_runs_fit():
    figure, words = draw_mrr_by_bin({"a": {"zero": Estimate(0.3)}})
    assert figure.axes[0].get_legend() is None
    assert words.endswith("a: zero 0.300.")
    many = {f"run {i}": RUNS["mixup"] for i in range(12)}
    assert len(draw_mrr_by_bin(many)[0].axes[0].patches) == 24


def test_distances_with_their_labels():
    figure, words = draw_distances({"standard": (1.18, 1.21), "mixup": (1.09, None)})
    (axes,) = figure.axes
    assert [bar.get_height() for bar in axes.patches] == [1.18, 1.21, 1.09, 0.0]
    assert [t.get_text() for t in axes.texts] == ["1.18", "1.21", "1.09", "none"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["heads", "relations"]
    assert words.endswith(
        "standard: heads 1.18, relations 1.21. mixup: heads 1.09, relations none."
    )
    assert draw_distances({"a": (1.0, 1.0)})[0].axes[0].get_legend() is None
