import os
import subprocess
import sys
from pathlib import Path

import pytest

from dglkgmix import Config, KnowledgeGraph, load, train
from dglkgmix.cli.main import main
from dglkgmix.config.toml import apply_overrides, dumps, loads
from dglkgmix.errors import ConfigError
from dglkgmix.paths import path_of, read_utf8, readable
from dglkgmix.runs.run import Run
from tests.conftest import ROOT

ROWS = [(f"\u0141{i % 8}", "r", f"\u0141{(i * 3 + 1) % 8}") for i in range(16)]
SMALL = ["model.decoder=distmult", "model.entity_dim=4", "training.epochs=1", "runtime.threads=1"]


def write_triples(folder):
    folder.mkdir(parents=True)
    text = "".join("\t".join(row) + "\n" for row in ROWS)
    (folder / "train.tsv").write_text(text, encoding="utf-8")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    write_triples(tmp_path / "home" / "kg")
    return tmp_path / "home"


def test_a_tilde_is_the_home_folder_where_a_path_begins_with_it(home):
    assert path_of("~/x") == home / "x"
    assert path_of(Path("~/x")) == home / "x"
    assert path_of("x/~") == Path("x/~")
    assert path_of("./~") == Path("~")
    assert path_of("~no-such-user/x") == Path("~no-such-user/x")


def test_every_path_may_begin_with_a_tilde(home, capsys):
    """Case 61: of the command line, of TOML files and of Python."""
    (home / "c.toml").write_text("[training]\nepochs = 1\n", encoding="utf-8")
    sets = [word for option in SMALL for word in ("--set", option)]
    command = ["train", "~/kg", "--config=~/c.toml", "--out=~/runs/x", "--quiet", *sets]
    assert main(command) == 0
    assert main(["degrees", "~/kg", "--plot", "~/p.png"]) == 0
    assert main(["export", "~/runs/x", "--out=~/vectors"]) == 0
    grid = (
        '[experiment]\nname = "x"\nseeds = [0]\n[grid]\ndata = ["~/kg"]\n'
        'model = ["distmult"]\nstrategy = ["standard"]\n'
    )
    (home / "e.toml").write_text(grid, encoding="utf-8")
    assert main(["experiment", "~/e.toml", "--dry-run", "--quiet"]) == 0
    kg = load("~/kg")
    train(kg, apply_overrides(Config(), SMALL), "~/runs/y")
    assert Run.open("~/runs/y").finished
    made = {path.name for path in home.iterdir()}
    assert made >= {"c.toml", "e.toml", "kg", "p.png", "runs", "vectors"}
    assert not Path("~").exists()
    capsys.readouterr()


def test_an_estimator_is_saved_at_home(home):
    from dglkgmix.estimator import KGCompleter

    fitted = KGCompleter(model="distmult", epochs=1, config={"model": {"entity_dim": 4}}).fit(ROWS)
    fitted.save("~/estimator")
    assert (home / "estimator" / "manifest.json").exists()
    assert KGCompleter.from_run("~/estimator").predict(ROWS[:1]) == fitted.predict(ROWS[:1])


def test_the_line_of_a_bad_byte_in_a_settings_file_is_named(tmp_path):
    """Case 69."""
    path = tmp_path / "bad.toml"
    path.write_bytes(b"[training]\nepochs = 1\n# caf\xe9\n")
    assert read_utf8(ROOT / "docs" / "data.md").startswith("# Data")
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file"):
        read_utf8(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_utf8(tmp_path)
    with pytest.raises(ConfigError, match=r"bad\.toml:3: invalid UTF-8 \(byte 0xe9\)"):
        read_utf8(path)
    path.write_bytes(b"\xef\xbb\xbf[training]\nepochs = 1\n")  # As some editors begin a file.
    assert read_utf8(path).startswith("[training]")
    path.write_bytes(b"[training]\nepochs = 1\n# caf\xe9\n")
    assert main(["train", "world", "--config", str(path), "--out", str(tmp_path / "run")]) == 2
    assert main(["train", "world", "--recipe", str(path), "--out", str(tmp_path / "run")]) == 2
    assert not (tmp_path / "run").exists()


def test_settings_can_name_a_source_that_is_not_utf8():
    source = os.fsdecode(b"d\xff")
    assert readable(source) == r"d\xff"
    assert readable("\u0141") == "\u0141"
    config = apply_overrides(Config(), [f"data.source={source}"])
    assert loads(dumps(config)).data.source == r"d\xff"


def in_c_locale(folder, *arguments):
    """The command line as a process of the C locale; arguments are sent as UTF-8 or as bytes."""
    encoded = [a if isinstance(a, bytes) else a.encode() for a in arguments]
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable.encode(), b"-m", b"dglkgmix", *encoded]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


def test_any_path_and_any_name_in_the_c_locale(tmp_path):
    """Case 69: a folder whose name has letters in UTF-8 and a byte that is none."""
    name = "\u015acie\u017cka".encode() + b"\xff"
    folder = tmp_path / os.fsdecode(name)
    write_triples(folder)
    sets = [word for option in SMALL for word in ("--set", option)]
    done = in_c_locale(tmp_path, "train", name, "--out", name + b"/run", "--quiet", *sets)
    assert (done.returncode, done.stderr) == (0, b"")
    query = ("--head", "\u01411", "--relation", "r", "--json")
    done = in_c_locale(tmp_path, "predict", name + b"/run", *query)
    assert (done.returncode, b"Error" in done.stderr) == (0, False)
    kg = KnowledgeGraph.from_names(ROWS)
    assert list(Run.open(folder / "run").kg.entities) == list(kg.entities)
    done = in_c_locale(tmp_path, "data", "convert", name, name + b"/out.parquet")
    assert done.returncode == 0
    assert list(load(folder / "out.parquet").entities) == list(kg.entities)
