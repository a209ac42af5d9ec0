import re
from xml.etree import ElementTree as ET

import pytest

from dglkgmix.report.figures.canvas import (
    INK,
    MUTED,
    PAPER,
    SERIES,
    drawing,
    legend,
    page_svg,
    save,
    shorten,
)

NAMES = ["_hidden", "$x$ and $y_1", "a_b^c"]


def draw():
    with drawing() as (figure, [axes]):
        handles = [axes.plot([0, 1], [i, 1], color=SERIES[i])[0] for i in range(3)]
        legend(axes, handles, NAMES)
        axes.set_title("100 % of \\alpha $z$")
    return figure


@pytest.fixture(scope="module")
def figure():
    return draw()


def texts(svg):
    root = ET.fromstring(svg)
    return [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_names_are_shown_as_they_are(figure):
    shown = texts(page_svg(figure, "fig", "t", "a"))
    assert [name for name in shown if name in NAMES] == NAMES
    assert "100 % of \\alpha $z$" in shown


def test_the_svg_has_a_name_a_description_and_ids_of_its_own(figure):
    svg = page_svg(figure, "fig", "A < B", 'says "x" & y')
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "fig-title fig-desc"
    by_id = {e.get("id"): e for e in root.iter() if e.get("id")}
    assert by_id["fig-title"].text == "A < B"
    assert by_id["fig-desc"].text == 'says "x" & y'

    ids = re.findall(r'\bid="([^"]*)"', svg)
    assert len(ids) == len(set(ids))
    assert all(i.startswith("fig-") for i in ids)
    references = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    assert references
    assert references <= set(ids)


def test_colours_and_fonts_are_left_to_the_page(figure):
    svg = page_svg(figure, "fig", "t", "a")
    for colour, variable in [(INK, "--ink"), (MUTED, "--muted"), (SERIES[1], "--series-2")]:
        assert f"var({variable}, {colour})" in svg
        assert colour not in svg.replace(f"var({variable}, {colour})", "")
    assert set(re.findall(r"font-family: ?([^;\"]*)", svg)) == {"inherit"}
    assert "<style" not in svg
    assert "http" not in svg.replace("http://www.w3.org/", "")


def test_the_same_figure_gives_the_same_bytes(figure):
    assert page_svg(figure, "fig", "t", "a") == page_svg(draw(), "fig", "t", "a")


def test_no_global_state_is_touched():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    page_svg(draw(), "fig", "t", "a")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_files_for_print(figure, tmp_path, ending):
    save(figure, tmp_path / f"figure.{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert (tmp_path / f"figure.{ending}").read_bytes().startswith(start)


def test_a_legend_reads_along_its_rows():
    names = [f"run {i}" for i in range(7)]

    with drawing() as (_, [axes]):
        legend(axes, [axes.plot([0, 1], [0, i])[0] for i in range(7)], names)
    drawn = axes.get_legend()
    places = {t.get_text(): t.get_window_extent() for t in drawn.get_texts()}
    reading = sorted(names, key=lambda name: (-round(places[name].y0), places[name].x0))
    assert reading == names
    assert len({round(box.y0) for box in places.values()}) == 2


def test_logarithmic_axes_have_plain_numbers():
    with drawing() as (figure, [axes]):
        axes.plot([0.1, 1000], [1, 2])
        axes.set_xscale("log")
    shown = texts(page_svg(figure, "fig", "t", "a"))
    assert {"0.1", "1", "10", "100", "1,000"} <= set(shown)
    assert not any("$" in text for text in shown)


def test_series_differ_for_readers_with_a_colour_deficiency():
    # Viénot, Brettel and Mollon (1999): what is left of linear RGB for protanopes, deuteranopes.
    import numpy as np

    matrices = [
        [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    ]
    colours = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in SERIES[:4]])
    linear = colours**2.2
    for matrix in matrices:
        seen = np.clip(linear @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        gaps = np.abs(seen[:, None] - seen[None]).sum(-1)
        assert gaps[np.triu_indices(4, 1)].min() > 0.2


def test_long_names_lose_their_middle():
    assert shorten("a" * 32) == "a" * 32
    assert shorten("abcdefghij", 5) == "ab…ij"
    assert shorten("a\x1b\nb\u2068\xa0") == "a\ufffd\ufffdb\u2068\xa0"
    assert len(shorten("x" * 100)) == 32
    assert PAPER != "#ffffff"
