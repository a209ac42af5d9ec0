from dglkgmix.evaluation.calibration import Point
from dglkgmix.report.figures.calibration import draw_errors, draw_reliability


def test_groups_read_from_the_top_with_both_errors():
    figure, words = draw_errors({"overall": (0.2, 0.05), "zero": (None, None), "low": (0.3, 0.1)})
    (axes,) = figure.axes
    heights = {t.get_text(): t.get_position()[1] for t in axes.get_yticklabels()}
    assert heights["overall"] > heights["zero"] > heights["low"]
    *joins, before, after = [line.get_xydata().tolist() for line in axes.lines]
    assert joins == [[[0.3, 0], [0.1, 0]], [[0.2, 2], [0.05, 2]]]
    assert before == [[0.3, 0], [0.2, 2]]
    assert after == [[0.1, 0], [0.05, 2]]
    assert words == (
        "Expected calibration error before and after scaling: "
        "overall 0.200 before, 0.050 after; low 0.300 before, 0.100 after."
    )
    empty = draw_errors({"overall": (None, None)})[0].axes[0]
    assert all(len(line.get_xdata()) == 0 for line in empty.lines)


def test_lines_stand_against_the_diagonal():
    before, after = [Point(0.2, 0.1, 5), Point(0.8, 0.4, 5)], [Point(0.5, 0.5, 10)]
    figure, words = draw_reliability({"before": before, "after": after})
    (axes,) = figure.axes
    lines = [line.get_xydata().tolist() for line in axes.lines]
    assert lines == [[[0, 0], [1, 1]], [[0.2, 0.1], [0.8, 0.4]], [[0.5, 0.5]]]
    assert axes.get_aspect() == 1
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["before", "after"]
    assert words == (
        "Share of true triples by predicted probability. "
        "before: 0.10 true at 0.20, 0.40 true at 0.80. after: 0.50 true at 0.50."
    )
