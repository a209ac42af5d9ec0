import html
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from dglkgmix.errors import CheckpointError, DataError
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.report.page import render, write_report
from dglkgmix.report.subject import best_first, read_subjects

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every tag closed in its order; ids, references and text kept."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.references, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        for key in ("href", "xlink:href", "src"):
            self.references += [values[key]] if key in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def text(run, other_run):
    return render([run, other_run], split="test", bins=DegreeBins())


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_page_needs_no_network_and_no_script(text, page):
    assert "script" not in page.tags
    assert not re.search(r"\son\w+\s*=", text)
    assert all(reference.startswith("#") for reference in page.references)
    assert "default-src 'none'" in text
    assert not re.search(r"url\((?!#)|@import", text)
    assert set(re.findall(r"https?://[^\s\"']+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_ids_are_unique_and_links_lead_somewhere(page):
    assert len(page.ids) == len(set(page.ids))
    assert {reference[1:] for reference in page.references} <= set(page.ids)


def test_names_are_text_whatever_they_look_like(text, page):
    assert "<b>likes</b>" in page.texts
    assert "<b>likes" not in text
    assert "two_<i>$x$" in page.texts
    assert "<i>$x" not in text
    assert any("$in$ _" in part for part in page.texts)


def test_names_of_either_direction_keep_their_places(make_run):
    """Arabic and Hebrew letters order nothing around a name: case 60."""
    names = [f"مدينة {i}" if i % 2 else f"City {i}" for i in range(12)]
    relation = "גר ב (x)"
    rows = [(names[i], relation, names[j]) for i in range(12) for j in (1, 2, 3) if i != j]
    kg = KnowledgeGraph.from_names(rows[:-10], rows[-10:-5], rows[-5:])
    run = make_run("ריצה (1)", kg=kg, **{"training.batch_size": 4})
    text = render([run], split="test", bins=DegreeBins())
    shown = "|".join(f"<bdi>{re.escape(name)}</bdi>" for name in names)
    queries = re.findall(r'<div class="asked">(.*?)</div>', text)
    assert queries
    for query in queries:
        assert re.fullmatch(
            rf"({shown}|<i>\?</i>) · <bdi>{re.escape(relation)}</bdi> · ({shown}|<i>\?</i>)", query
        )
    guesses = re.findall(r"<ol>\n(.*?)</ol>", text, re.DOTALL)
    chance = r'<span class="chance">\d+\xa0%</span>'
    guess = rf'<li>(<span class="right">)?({shown})( ✓</span>)? {chance}</li>\n'
    assert all(re.fullmatch(f"({guess})+", answers) for answers in guesses)
    assert "MRR of \u2068ריצה (1)\u2069<" in text
    assert f"<bdi>{relation}</bdi></th>" in text


def test_light_and_dark(text):
    assert 'name="color-scheme" content="light dark"' in text
    light, dark = text.split("prefers-color-scheme: dark", 1)
    used = set(re.findall(r"var\((--[a-z0-9-]+)", text)) - {"--dot"}
    for name in used:
        assert f"{name}:" in light, name
        assert f"{name}:" in dark, name


def test_every_figure_has_a_description(text):
    svgs = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(svgs) == 1 + 1 + 6 + 5 + 2 + 3
    assert all(re.search(r"<desc[^>]*>\w.+?</desc>", svg, re.DOTALL) for svg in svgs)


def test_the_best_run_is_open_and_the_other_folded_away(text, run, other_run):
    subjects = read_subjects([run, other_run], "test", DegreeBins())
    best, worst = (html.escape(s.name) for s in best_first(subjects))
    parts = {part.split('"')[0]: part for part in text.split('<section id="')[1:]}
    for anchor, title in (
        ("degrees-and-mrr", f"MRR of {best} by degree"),
        ("examples", f"Example predictions of {best}"),
        ("map", f"Map of the entities of {best}"),
        ("calibration", "Calibration"),
    ):
        assert f"<h2>{title}</h2>" in parts[anchor]
        folded = parts[anchor].split("<summary>The same for ")[1:]
        assert [part.split("</summary>")[0] for part in folded] == [worst]
    words = ("Probabilities of ranked answers:", "Each triple against", "of the KG-Mixup paper")
    places = [parts["calibration"].index(word) for word in words]
    assert places == sorted(places)


@pytest.mark.parametrize(("projection", "words"), [("pca", "vary most"), ("tsne", "neighbours")])
def test_a_page_on_one_run_compares_nothing(run, projection, words):
    text = render([run], split="valid", bins=DegreeBins((2,)), projection=projection)
    assert words in " ".join(text.split('id="map"')[1].split("<svg")[0].split())
    assert "The same for" not in text
    assert "Results on the valid split, by degree" in text
    assert "[2,∞)" in text
    assert "[2,inf)" not in text
    page = Page(text)
    assert "comparison" not in page.ids
    assert {"data", "results", "relations", "examples", "calibration", "map"} <= set(page.ids)


def test_runs_on_other_data_are_refused(run, make_run, small_graph):
    rows = small_graph.train.numpy()
    other = make_run("other", kg=KnowledgeGraph.from_arrays(rows[:-9], rows[:9], rows[-9:]))
    with pytest.raises(DataError, match="one and other were evaluated on different data"):
        render([run, other], split="test", bins=DegreeBins())


def test_the_file_is_written_whole(run, tmp_path, monkeypatch):
    asked = []

    def render(runs, *, split, bins, projection):
        asked.append(([r.path for r in runs], split, bins, projection))
        return "a page – whole"

    monkeypatch.setattr("dglkgmix.report.page.render", render)
    write_report([run.path], tmp_path / "page.html", split="valid")
    assert asked == [([run.path], "valid", DegreeBins(), "pca")]
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "a page – whole"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(CheckpointError, match="no such run folder"):
        write_report([tmp_path / "none"], tmp_path / "page.html")


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return pytest.skip("no Chromium found: the page is not opened in a browser")


@pytest.mark.parametrize("width", [1400, 1280, 420])
def test_a_browser_shows_it_without_sideways_scrolling(text, tmp_path, width):
    """The page never scrolls sideways, its tables only where the window is narrow."""
    # The page itself runs no script: this copy gets one that reports what the browser made of it.
    probe = """<script>addEventListener("load", () => {
      const root = document.documentElement;
      const broken = [...document.querySelectorAll("svg")].filter(
        (s) => s.checkVisibility() && s.getBoundingClientRect().height < 50);
      const cut = [...document.querySelectorAll(".scroll")].filter(
        (s) => s.checkVisibility() && s.scrollWidth > s.clientWidth);
      const found = [root.scrollWidth, innerWidth, broken.length, cut.length];
      parent.postMessage(JSON.stringify(found), "*");
    });</script>"""
    # As on a graph of millions of triples.
    text = re.sub(r">(\d+ \(\d+\s%\)<)", r">1,234,\1", text)
    copy = re.sub(r"<meta http-equiv[^>]*>", "", text).replace("</head>", probe + "</head>")
    (tmp_path / "page.html").write_text(copy)
    # A window is never narrower than 500 pixels, a frame may be.
    (tmp_path / "frame.html").write_text(
        "<script>onmessage = (m) => { document.title = m.data; };</script>"
        f'<iframe src="page.html" style="border: 0" width="{width}" height="900"></iframe>'
    )
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --disable-dev-shm-usage"
    command = [
        *(chromium(), *flags.split(), f"--user-data-dir={tmp_path / 'profile'}"),
        *("--window-size=1500,1000", "--virtual-time-budget=5000", "--dump-dom"),
        (tmp_path / "frame.html").as_uri(),
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    title = re.search(r"<title>\[(\d+),(\d+),(\d+),(\d+)\]</title>", found.stdout)
    scroll_width, inner_width, broken, cut = map(int, title.groups())
    assert inner_width == width
    assert scroll_width <= inner_width
    assert broken == 0
    assert (cut > 0) == (width < 1280)
