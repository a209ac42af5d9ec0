"""docs/json.md against what the commands print."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest

from dglkgmix.cli.main import main
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "json.md"
TYPES = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
KINDS = [
    *("relation", "relation-class", "head-in", "head-out", "tail-in", "tail-out"),
    *("other-relation", "joint", "macro", "ties", "shortlist"),
]


@pytest.fixture(scope="module")
def shapes():
    """Shape by heading; several under one heading as ``HEADING 2`` and so on."""
    found = {}
    heading = ""
    text = PAGE.read_text(encoding="utf-8")
    for part in re.finditer(r"^### ([^\n]+)$|^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if part[1]:
            heading = part[1].strip("`")
        else:
            number = sum(key.startswith(heading) for key in found)
            name = f"{heading} {number + 1}" if number else heading
            found[name] = json.loads(part[2])
    return found


def fits(value, shape, shapes, where="value"):
    """AssertionError that says where a value is not of its shape."""
    if isinstance(shape, str):
        assert any(_is(value, kind, shapes, where) for kind in shape.split(" or ")), (
            f"{where}: {value!r} is no {shape}"
        )
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for place, item in enumerate(value):
            fits(item, shape[0], shapes, f"{where}[{place}]")
    else:
        _fits_object(value, shape, shapes, where)


def _is(value, kind, shapes, where):
    if kind in TYPES:
        return TYPES[kind](value)
    if value is None:
        return False
    fits(value, shapes[kind], shapes, where)
    return True


def _fits_object(value, shape, shapes, where):
    assert isinstance(value, dict), where
    named = {key for key in shape if not key.startswith("<")}
    rest = [key for key in shape if key.startswith("<")]
    assert named <= set(value), f"{where} lacks {sorted(named - set(value))}"
    assert rest or named == set(value), f"{where} has {sorted(set(value) - named)} besides"
    for key, item in value.items():
        fits(item, shape[key if key in named else rest[0]], shapes, f"{where}.{key}")


def printed(command):
    """The JSON on standard output, which must hold nothing else."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(shlex.split(command)) == 0, command
    return json.loads(out.getvalue())


TRAIN = "train toy --model distmult --epochs 2 --batch-size 4 --quiet --set model.entity_dim=4"
SPACE = (
    "[settings]\ntraining.epochs = 1\ntraining.batch_size = 4\nmodel.entity_dim = 4\n"
    'model.decoder = "distmult"\n[space]\ntraining.lr = [0.1, 0.01]\n'
)
GRID = (
    '[experiment]\nname = "toy"\n[grid]\ndata = ["toy"]\nmodel = ["distmult"]\n'
    'strategy = ["standard"]\n[settings]\ntraining.epochs = 1\ntraining.batch_size = 4\n'
)
COMMANDS = {
    "dglkgmix data list --json": "data list --json",
    "dglkgmix data info SOURCE --json": "data info toy --json",
    "dglkgmix degrees SOURCE --json": "degrees toy --json",
    "dglkgmix recipes --json": "recipes --json",
    "dglkgmix train SOURCE --out RUN --json": f"{TRAIN} --out again --json",
    "dglkgmix evaluate RUN --json": "evaluate run --json",
    "dglkgmix evaluate RUN --json 2": f"evaluate run --by {' --by '.join(KINDS)} --json",
    "dglkgmix evaluate RUN --false-triples FILE --json": (
        "evaluate run --false-triples false.txt --json"
    ),
    "dglkgmix compare RUN_A RUN_B --json": "compare run run --json",
    "dglkgmix predict RUN --head NAME --relation NAME --json": (
        "predict run --head a --relation likes --why --json"
    ),
    "dglkgmix predict RUN --head NAME --relation NAME --tail NAME --json": (
        "predict run --head a --relation likes --tail d --json"
    ),
    "dglkgmix predict RUN --relation NAME --json": "predict run --relation likes --json",
    "dglkgmix detect-errors RUN --json": "detect-errors run --folds 2 --quiet --json",
    "dglkgmix neighbours RUN NAME --json": "neighbours run a --json",
    "dglkgmix experiment FILE --dry-run --json": "experiment grid.toml --dry-run --json",
    "dglkgmix tune SOURCE --space FILE --out DIR --json": (
        "tune toy --space space.toml --trials 1 --out search --quiet --json"
    ),
}


@pytest.fixture
def folder(toy_folder, monkeypatch):
    """A folder with a graph, a run, an experiment file and a search space."""
    monkeypatch.chdir(toy_folder.parent)
    # The toy has too few validation triples for probabilities of ranked answers.
    monkeypatch.setattr("dglkgmix.evaluation.list_probability.FEWEST", 1)
    Path("grid.toml").write_text(GRID, encoding="utf-8")
    Path("false.txt").write_text("lone\tlikes\ta\n", encoding="utf-8")
    Path("space.toml").write_text(SPACE, encoding="utf-8")
    printed(f"{TRAIN} --out run --json")
    return toy_folder.parent


def test_every_command_with_json_is_on_the_page(shapes):
    assert {name for name in shapes if name.startswith("dglkgmix")} == set(COMMANDS)


@pytest.mark.usefixtures("folder")
def test_commands_print_what_the_page_shows(shapes):
    for name, command in COMMANDS.items():
        fits(printed(command), shapes[name], shapes, name)


@pytest.mark.usefixtures("folder")
def test_a_line_of_answers_is_what_the_page_shows(shapes):
    """Case 70."""
    Path("queries.csv").write_text("head,relation,tail\na,likes,\n,knows,c\nlone,,c\n")
    assert main(shlex.split("predict run --queries queries.csv --out answers.jsonl")) == 0
    lines = Path("answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["asked"] for line in lines] == ["tail", "head", "relation"]
    for line in lines:
        fits(
            json.loads(line),
            shapes["dglkgmix predict RUN --head NAME --relation NAME --json"],
            shapes,
        )


def test_what_does_not_fit_is_named():
    shapes = {"Pair": {"a": "integer", "<rest>": "number or null"}}
    fits({"a": 1, "b": None, "c": 0.5}, "Pair", shapes)
    fits(None, "Pair or null", shapes)
    with pytest.raises(AssertionError, match=r"value.b: 'x' is no number or null"):
        fits({"a": 1, "b": "x"}, "Pair", shapes)
    with pytest.raises(AssertionError, match=r"value lacks \['a'\]"):
        fits({"b": 1}, "Pair", shapes)
    with pytest.raises(AssertionError, match=r"value.a: True is no integer"):
        fits({"a": True}, "Pair", shapes)
