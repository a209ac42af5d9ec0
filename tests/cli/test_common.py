import html
import io
import itertools
import json
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dglkgmix.cli.common import (
    DownloadBar,
    emit_json,
    json_option,
    printable,
    source_options,
    warn_of_alike,
)
from dglkgmix.cli.compare import compare
from dglkgmix.cli.evaluate import evaluate
from dglkgmix.cli.export import export
from dglkgmix.cli.main import main
from dglkgmix.cli.predict import predict
from dglkgmix.cli.report import report
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs.run import Run
from tests.cli.conftest import call


@click.command()
@source_options
@json_option
def command(**options):
    print(repr(options))


def options(*args):
    result = CliRunner().invoke(command, args)
    assert result.exit_code == 0, result.output
    return eval(result.output)


class TestSourceOptions:
    def test_what_was_given_is_parsed(self):
        given = options(
            *("--columns", "s, p,o", "--header", "--delimiter", "tab", "--format", "csv"),
            *("--shares", "0.5,0.25,0.25", "--split-seed", "7", "--json"),
            *("--strip", "--normalize", "nfc"),
            *("--split-mirrors", "apart"),
        )
        assert given == {
            "columns": ("s", "p", "o"),
            "header": True,
            "delimiter": "\t",
            "format": "csv",
            "strip": True,
            "normalize": "nfc",
            "shares": (0.5, 0.25, 0.25),
            "split_seed": 7,
            "split_mirrors": "apart",
            "as_json": True,
        }

    @pytest.mark.parametrize(
        ("typed", "meant"),
        [("tab", "\t"), (r"\t", "\t"), ("comma", ","), ("space", " "), (";", ";"), ("|", "|")],
    )
    def test_delimiters(self, typed, meant):
        assert options("--delimiter", typed)["delimiter"] == meant

    @pytest.mark.parametrize(
        ("option", "value"),
        [
            ("--columns", "head,tail"),
            ("--shares", "0.8,0.2"),
            ("--shares", "a,b,c"),
            ("--shares", "nan,nan,nan"),
            ("--delimiter", "ab"),
            ("--format", "xlsx"),
            ("--split-seed", "x"),
            ("--split-mirrors", "x"),
        ],
    )
    def test_nonsense_is_refused_by_name(self, option, value):
        result = CliRunner().invoke(command, [option, value])
        assert result.exit_code == 2
        assert f"Invalid value for '{option}'" in result.output


def test_train_and_evaluate_tell_mirrors(tmp_path, capsys):
    """Eight entities, each near all others: 56 triples, of which 6 are for valid and for test."""
    pairs = itertools.combinations("abcdefgh", 2)
    rows = [f"{a}\tnear\t{b}\n{b}\tnear\t{a}\n" for a, b in pairs]
    source, toml, out = (tmp_path / name for name in ("x.tsv", "x.toml", "run"))
    source.write_text("".join(rows))
    toml.write_text('[data]\nsplit_mirrors = "apart"\n')
    small = ["--model", "distmult", "--epochs", "1", "--out", str(out), "--quiet"]
    assert main(["train", str(source), *small]) == 0
    assert capsys.readouterr().err == ""
    for way in (["--split-mirrors", "apart"], ["--config", str(toml)]):
        assert main(["train", str(source), *small, "--overwrite", *way]) == 0
        told = capsys.readouterr().err
        kg = Run.open(out).kg
        known = {tuple(row) for row in kg.train.tolist()}
        counts = [
            sum((t, r, h) in known for h, r, t in rows.tolist()) for rows in (kg.valid, kg.test)
        ]
        assert min(counts) > 0
        assert told.startswith(
            f"Warning: {counts[0]} of 6 valid triples and {counts[1]} of 6 test triples have their "
            "mirror in train"
        )
        assert main(["evaluate", str(out)]) == 0
        assert capsys.readouterr().err == told
    assert main(["report", str(out), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"{counts[1]} of 6 test triples have their mirror in train" in page


class TestJson:
    def test_floats_are_whole_and_what_json_lacks_is_null(self, capsys):
        emit_json({"mrr": 0.1 + 0.2, "nan": float("nan"), "inf": -float("inf"), "n": 3, "ok": True})
        out = capsys.readouterr().out
        assert '"mrr": 0.30000000000000004' in out
        assert json.loads(out) == {"mrr": 0.1 + 0.2, "nan": None, "inf": None, "n": 3, "ok": True}

    @pytest.mark.parametrize(
        ("encoding", "written"), [("utf-8", '"Köln"'), ("ascii", r'"K\u00f6ln"')]
    )
    def test_names_survive_every_locale(self, monkeypatch, encoding, written):
        buffer = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding=encoding))
        emit_json("Köln")
        sys.stdout.flush()
        assert buffer.getvalue().decode(encoding).strip() == written


class TestPrintable:
    @pytest.mark.parametrize(
        "text", ["Köln", "東京", "a b", "two\nlines", "नमस्ते", "👩\u200d🚀", ""]
    )
    def test_ordinary_text_stays(self, text):
        assert printable(text) == text

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a\x1b[31mred", r"a\x1b[31mred"),
            ("bell\x07", r"bell\x07"),
            ("over\rwrite", r"over\rwrite"),
            ("\x9b2J", r"\x9b2J"),
            ("user\u202etxt.exe", r"user\u202etxt.exe"),
            ("a\u2028b", r"a\u2028b"),
            ("\ud800", r"\ud800"),
        ],
    )
    def test_what_steers_a_terminal_is_escaped(self, text, shown):
        assert printable(text) == shown


QUERY = ("--head", "e2", "--relation", "next")


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (evaluate, ("RUN",)),
        (compare, ("RUN", "OTHER")),
        (predict, ("RUN", *QUERY)),
        (report, ("OTHER", "RUN", "--out", "page.html")),
        (export, ("RUN", "--out", "vectors")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_interrupted_run_is_used_with_a_warning(
    interrupted, run, tmp_path, monkeypatch, command, arguments
):
    monkeypatch.chdir(tmp_path)
    places = {"RUN": str(interrupted), "OTHER": str(run)}
    found = call(command, *(places.get(text, text) for text in arguments))
    lines = [line for line in found.stderr.splitlines() if "not finished" in line]
    said = f"{interrupted}: the training has not finished; this is about its best weights so far. "
    assert lines == [f"Warning: {said}Go on with: dglkgmix train --resume --out {interrupted}"]
    if command is report:
        page = Path("page.html").read_text(encoding="utf-8")
        assert page.count(html.escape(said)) == 1


def test_the_representation_is_a_line(interrupted, run):
    assert repr(Run.open(run)) == f"Run({run}, finished)"
    assert repr(Run.open(interrupted)) == f"Run({interrupted}, not finished)"


def test_names_that_are_alike_are_told_in_a_line(capsys):
    rows = [("Ada", "knows", "Alan"), ("ada ", "knows", "ADA"), ("Alan", "Knows", "Ada")]
    warn_of_alike(KnowledgeGraph.from_names(rows[:1]), "staff.tsv")
    assert capsys.readouterr().err == ""
    warn_of_alike(KnowledgeGraph.from_names(rows), "my staff.tsv")
    assert capsys.readouterr().err == (
        "Warning: 3 entities and 2 relations are alike but for case, space or Unicode form: "
        "`dglkgmix data info 'my staff.tsv'` shows which\n"
    )


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


def test_what_the_library_warns_of_is_marked_as_a_warning_once(tmp_path, capsys):
    (tmp_path / "kg.csv").write_text("head,relation,tail\na,r,b\nb,r,c\nc,r,a\n", encoding="utf-8")
    for _ in range(2):
        assert main(["data", "info", str(tmp_path / "kg.csv")]) == 0
        err = capsys.readouterr().err
        assert err.startswith(f"Warning: {tmp_path}/kg.csv:1: head, relation, tail look like names")
        assert err.count("look like names") == 1
