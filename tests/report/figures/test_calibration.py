from dglkgmix.report.figures.calibration import (
    Point,
    describe_calibration,
    describe_reliability,
    draw_calibration,
    draw_reliability,
)

ERRORS = {"overall": (0.2, 0.05), "zero": (None, None), "low": (0.3, 0.1)}


def test_groups_read_from_the_top_with_both_errors():
    axes = draw_calibration(ERRORS).axes[0]
    heights = {t.get_text(): t.get_position()[1] for t in axes.get_yticklabels()}
    assert heights["overall"] > heights["zero"] > heights["low"]
    *joins, before, after = [line.get_xydata().tolist() for line in axes.lines]
    assert joins == [[[0.3, 0], [0.1, 0]], [[0.2, 2], [0.05, 2]]]
    assert before == [[0.3, 0], [0.2, 2]]
    assert after == [[0.1, 0], [0.05, 2]]


def test_nothing_measured_is_an_empty_figure():
    axes = draw_calibration({"overall": (None, None)}).axes[0]
    assert all(len(line.get_xdata()) == 0 for line in axes.lines)


def test_words():
    assert describe_calibration(ERRORS) == (
        "Expected calibration error before and after scaling: "
        "overall 0.200 before, 0.050 after; low 0.300 before, 0.100 after."
    )


SERIES = {"before": [Point(0.2, 0.1, 5), Point(0.8, 0.4, 5)], "after": [Point(0.5, 0.5, 10)]}


def test_lines_stand_against_the_diagonal():
    axes = draw_reliability(SERIES).axes[0]
    lines = [line.get_xydata().tolist() for line in axes.lines]
    assert lines == [[[0, 0], [1, 1]], [[0.2, 0.1], [0.8, 0.4]], [[0.5, 0.5]]]
    assert axes.get_aspect() == 1
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["before", "after"]


def test_words_of_the_diagram():
    assert describe_reliability(SERIES) == (
        "Share of true triples by predicted probability. "
        "before: 0.10 true at 0.20, 0.40 true at 0.80. after: 0.50 true at 0.50."
    )
