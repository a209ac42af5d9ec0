import io
import sys

from dglkgmix.cli.download_bar import DownloadBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_each_file_is_named_once_where_nobody_watches(capsys):
    bar = DownloadBar()
    for done in (1, 2, 3):
        bar("a.txt", done, 3)
    bar("b.txt", 5, None)
    captured = capsys.readouterr()
    assert captured.err == "Fetching a.txt\nFetching b.txt\n"
    assert captured.out == ""


def test_a_terminal_gets_a_bar_for_each_file(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = DownloadBar()
    bar("a.txt", 500, 2000)
    bar("a.txt", 2000, 2000)
    bar("b.txt", 10, None)
    bar("c.txt", 10, 20)
    shown = terminal.getvalue()
    assert "a.txt: 100%" in shown
    assert "2.00k/2.00k" in shown
    assert "b.txt: 10.0B" in shown
