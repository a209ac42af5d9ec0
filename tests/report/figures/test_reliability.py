from dglkgmix.report.figures.reliability import Point, describe_reliability, draw_reliability

SERIES = {"before": [Point(0.2, 0.1, 5), Point(0.8, 0.4, 5)], "after": [Point(0.5, 0.5, 10)]}


def test_lines_stand_against_the_diagonal():
    axes = draw_reliability(SERIES).axes[0]
    lines = [line.get_xydata().tolist() for line in axes.lines]
    assert lines == [[[0, 0], [1, 1]], [[0.2, 0.1], [0.8, 0.4]], [[0.5, 0.5]]]
    assert axes.get_aspect() == 1
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["before", "after"]


def test_words():
    assert describe_reliability(SERIES) == (
        "Share of true triples by predicted probability. "
        "before: 0.10 true at 0.20, 0.40 true at 0.80. after: 0.50 true at 0.50."
    )
