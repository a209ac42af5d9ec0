from dglkgmix.report.figures.calibration import describe_calibration, draw_calibration

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
