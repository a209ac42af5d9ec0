from dglkgmix.report.figures.distances import describe_distances, draw_distances

RUNS = {"standard": (1.18, 1.21), "mixup": (1.09, None)}


def test_bars_and_their_labels():
    axes = draw_distances(RUNS).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [1.18, 1.21, 1.09, 0.0]
    assert [t.get_text() for t in axes.texts] == ["1.18", "1.21", "1.09", "none"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["heads", "relations"]
    assert draw_distances({"a": (1.0, 1.0)}).axes[0].get_legend() is None


def test_words():
    assert describe_distances(RUNS).endswith(
        "standard: heads 1.18, relations 1.21. mixup: heads 1.09, relations none."
    )
