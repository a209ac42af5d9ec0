"""Every block of every page runs; see ``blocks.py`` for marks and ``runner.py`` for comparisons.

The tour is run before all pages that name its runs. They find them in ``runs/`` and, by the names
that `dglkgmix demo` gives them, in ``dglkgmix-demo/``.
"""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.blocks import Block, blocks, pages
from tests.docs.runner import Runner, commands, matches

TOUR = ROOT / "docs" / "guides" / "tour.md"
# Its program is run, and its results looked at, by tests/pipeline/test_guide.py.
ELSEWHERE = ROOT / "docs" / "guides" / "dgl-pipeline.md"
DATA = ROOT.parent / "shared" / "data"
PAGES = [page for page in pages() if page != ELSEWHERE]
# DGL's data loaders and scikit-learn's warn about matters of speed and of empty folds.
pytestmark = pytest.mark.filterwarnings("default")


def runnable(page):
    return [b for b in blocks(page) if b.language in ("python", "console", "text") or b.title]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def toured(tmp_path_factory, testrun_uid):
    """The folder in which the tour was run, quick or in full; once for all test processes."""
    shared = tmp_path_factory.getbasetemp().parent

    def tour(quick):
        folder = shared / f"tour-{testrun_uid}-{quick}"
        folder.mkdir(exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / ".done").exists():
                run_page(TOUR, folder, quick=quick)
                (folder / ".done").touch()
        return folder

    return tour


def chosen(page, quick):
    left_out = {"long"} if quick else set()
    if not DATA.is_dir():
        left_out.add("data")
    return [block for block in runnable(page) if not left_out & block.marks]


def run_page(page, folder, *, quick):
    runner, before = Runner(quick=quick), Path.cwd()
    os.chdir(folder)
    try:
        for block in chosen(page, quick):
            runner.run(block)
    finally:
        os.chdir(before)


def run_after_tour(page, tmp_path, toured, *, quick):
    if page == TOUR:
        toured(quick)
        return
    places = ("runs", "dglkgmix-demo")
    if any(f"{place}/" in block.text for block in chosen(page, quick) for place in places):
        tour = toured(quick)
        for place in places:
            shutil.copytree(tour / "runs", tmp_path / place)
    run_page(page, tmp_path, quick=quick)


@pytest.fixture(autouse=True)
def _data(monkeypatch, tmp_path):
    """Data sets are those beside the repository, or none: no page reaches for the network."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("DGLKGMIX_DATA", str(DATA if DATA.is_dir() else tmp_path / "none"))


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=name)
def test_every_block_runs(page, tmp_path, toured):
    run_after_tour(page, tmp_path, toured, quick=True)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=name)
def test_every_block_runs_in_full(page, tmp_path, toured):
    run_after_tour(page, tmp_path, toured, quick=False)


def test_what_is_not_run_is_typed_before_anything_is_installed():
    for page in pages():
        for block in blocks(page):
            if block.language == "sh":
                programs = {line.split()[0] for line in block.text.splitlines() if line}
                assert programs <= {"make", "git", "cd", "pip", "python"}, block.where


def page_of(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


class TestTheHarness:
    def test_blocks_of_a_page(self, tmp_path):
        text = (
            '# A\n\n<!-- varies -->\n```console\n$ ls\n```\n\n```toml title="a.toml"\nb = 1\n```\n'
        )
        first, second = blocks(page_of(tmp_path, text))
        assert (first.language, first.line, first.marks) == ("console", 5, {"varies"})
        assert (second.title, second.text, second.follows) == ("a.toml", "b = 1\n", True)

    @pytest.mark.parametrize("fence", ["```pyton", "  ```python", "```python linenums", "```"])
    def test_a_fence_that_would_not_be_run_is_refused(self, tmp_path, fence):
        with pytest.raises(ValueError, match=r"page.md:1: a fence that the tests do not know"):
            blocks(page_of(tmp_path, f"{fence}\na\n```\n"))

    def test_an_unknown_mark_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="unknown marks"):
            blocks(page_of(tmp_path, "<!-- skip -->\n```python\na\n```\n"))

    def test_commands_with_continuations_and_output(self):
        found = list(commands("$ ls \\\n    a\nx\ny\n$ cat b\n"))
        assert [(c.line, c.shown) for c in found] == [("ls      a", "x\ny\n"), ("cat b", "")]

    def test_dots_stand_for_any_lines(self):
        assert matches(["a", "b", "c"], ["a", "...", "c"])
        assert matches(["a"], ["...", "a", "..."])
        assert not matches(["a", "b"], ["...", "a"])

    @pytest.mark.parametrize(
        ("printed", "shown", "agree"),
        [
            ("MRR  0.5000 -0.1", "MRR 0.2310 +0.0031", True),
            ("p < 0.0001", "p 0.0312", True),
            ("1,070 queries", "1,071 queries", False),
            ("(best epoch 1 of 2)", "(best epoch 58, stopped early after 60 of 99)", True),
            ("Germany", "France", False),
        ],
    )
    def test_what_is_compared(self, tmp_path, printed, shown, agree, monkeypatch):
        monkeypatch.setattr("tests.docs.blocks.ROOT", tmp_path)
        text = f"```python\nprint({printed!r})\n```\n\n```text\n{shown}\n```\n"
        code, output = blocks(page_of(tmp_path, text))
        runner = Runner()
        runner.run(code)
        if agree:
            runner.run(output)
        else:
            with pytest.raises(AssertionError, match=r"page.md:6: the Python above printed"):
                runner.run(output)

    def test_a_failing_command_fails_unless_its_error_is_shown(self):
        page, command = ROOT / "docs" / "page.md", "$ dglkgmix recipes show conve.toml\n"
        error = "Error: conve.toml: cannot be read: No such file or directory\n"
        Runner().run(Block(page, 1, "console", command + error))
        with pytest.raises(AssertionError, match="exit status 2"):
            Runner().run(Block(page, 1, "console", command))
