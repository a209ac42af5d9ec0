"""A decoder and a strategy of the user's, in a module beside the data, through every door."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from dglkgmix import Config, KGCompleter, Run, train
from dglkgmix.cli.main import main
from dglkgmix.config import ModelConfig, TrainingConfig, classes
from dglkgmix.config.toml import apply_overrides, dumps
from dglkgmix.errors import CheckpointError
from dglkgmix.kg.graph import KnowledgeGraph
from tests.conftest import TOY, write_splits

MODULE = """
import torch

import numpy as np

from dglkgmix.config import option
from dglkgmix.config.option import ABOVE_0
from dglkgmix.evaluation.metrics import Metric, hits
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.lookup import Lookup
from dglkgmix.strategies import Strategy


class Rotation(Decoder):
    title = "Rotation"

    class Options:
        angle: float = option(1.0, "Factor of every angle.", bounds=ABOVE_0)

    def __init__(self, entity_dim, relation_dim="auto", angle=1.0):
        super().__init__(entity_dim, entity_dim // 2)
        self.angle = angle

    def _query(self, head, relation):
        left, right = head.chunk(2, dim=1)
        cos, sin = (self.angle * relation).cos(), (self.angle * relation).sin()
        return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=1)


class Odd(Rotation):
    def __init__(self, entity_dim, angle):
        raise ValueError("bad geometry")


class Plain(Lookup):
    title = "Plain"


class InverseRoot(Strategy):
    scaled = True
    two_stage = True

    class Options:
        power: float = option(0.5, "Positives weigh degree ** -power.")

    def positive_weights(self, edges):
        return self.kg.degrees.edge_tail_relation[edges].float() ** -self.config.power


HITS_AT_2 = hits(2, tested=True)
MEDIAN = Metric("median", "median rank", lambda ranks: ranks, np.median, low_is_good=True)
"""
FAST = (
    *("--epochs", "2", "--batch-size", "4", "--set", "model.entity_dim=8"),
    *("--set", "runtime.threads=1", "--quiet"),
)
SMALL = Config(model=ModelConfig(entity_dim=8), training=TrainingConfig(epochs=2, batch_size=4))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the module, the triples and a finished run of the module's classes."""
    place = tmp_path_factory.mktemp("place")
    (place / "guest_classes.py").write_text(MODULE, encoding="utf-8")
    write_splits(place / "data", TOY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        classes_named = (
            "--model",
            "guest_classes:Rotation",
            "--strategy",
            "guest_classes:InverseRoot",
        )
        own = ("--set", "model.angle=0.5", "--set", "strategy.power=1.0")
        assert main(["train", "data", "--out", "run", *classes_named, *own, *FAST]) == 0
    return place


@pytest.fixture(autouse=True)
def strange(place, monkeypatch):
    """Each test begins as a new process does: nothing has imported the module."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(place))])
    monkeypatch.setattr(classes, "_named", {})
    sys.modules.pop("guest_classes", None)
    yield
    sys.modules.pop("guest_classes", None)


def graph():
    return KnowledgeGraph.from_names(**TOY)


def test_the_run_records_the_import_path_and_the_options():
    text = Path("run/config.toml").read_text(encoding="utf-8")
    assert 'decoder = "guest_classes:Rotation"' in text
    assert "angle = 0.5\n" in text
    assert 'name = "guest_classes:InverseRoot"' in text
    assert "power = 1.0\n" in text
    run = Run.open("run", trust=True)
    assert (run.model.decoder.angle, run.model.decoder.relation_dim) == (0.5, 4)
    assert run.config.pretrain.enabled is True  # the class's two_stage
    assert {row["stage"] for row in run.history} == {"pretrain", "train"}


COMMANDS = [
    ("evaluate", "run"),
    ("compare", "run", "run"),
    ("predict", "run", "--head", "a", "--relation", "likes"),
    ("export", "run", "--out", "vectors"),
    ("report", "run", "--out", "page.html"),
    ("train", "--resume", "--out", "run", "--epochs", "3", "--quiet"),
    ("train", "data", "--from", "run", "--out", "next", "--quiet"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_commands_read_the_run_where_it_is_trusted(command, capsys):
    args = list(command)
    if command[0] == "predict":
        head, relation, _ = TOY["train"][0]
        args = ["predict", "run", "--head", head, "--relation", relation]
    if command[0] == "compare":  # ranks are stored, and need no model
        assert main(args) == 0
        return
    assert main(args) == 2
    error = capsys.readouterr().err
    assert "guest_classes:Rotation is a class outside of dglkgmix" in error
    assert "--trust" in error
    assert "guest_classes" not in sys.modules
    assert main([*args, "--trust"]) == 0
    if command[0] == "report":
        assert "Rotation" in Path("page.html").read_text(encoding="utf-8")


def test_a_report_compares_a_run_with_an_own_option_to_one_without():
    assert main(["train", "data", "--out", "plain", "--model", "distmult", *FAST]) == 0
    assert main(["report", "plain", "run", "--trust", "--out", "both.html"]) == 0
    assert "model.angle" in Path("both.html").read_text(encoding="utf-8")


def test_a_module_that_is_gone_is_one_clear_error(capsys, monkeypatch, tmp_path):
    run = Path("run").resolve()
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", str(run), "--trust"]) == 2
    error = capsys.readouterr().err
    assert "guest_classes:Rotation cannot be imported: ModuleNotFoundError" in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (("model.angle=0",), "model.angle must be above 0, got 0.0"),
        (("model.angle=wide",), 'model.angle: expected a number, got "wide" (Factor of every'),
        (("model.angel=1",), "unknown option 'model.angel'; did you mean model.angle"),
        (("model.filters=3",), 'model.decoder "guest_classes:Rotation" does not read it'),
    ],
)
def test_own_options_are_checked_as_the_packages_are(sets, message, capsys):
    args = [part for text in sets for part in ("--set", text)]
    status = main(["train", "data", "--out", "no", "--model", "guest_classes:Rotation", *args])
    assert (status, message in capsys.readouterr().err) == (2, True)


def test_a_configuration_file_names_it(tmp_path):
    settings = '[model]\ndecoder = "guest_classes:Rotation"\nencoder = "guest_classes:Plain"\n'
    (tmp_path / "own.toml").write_text(settings + "angle = 2.0\n", encoding="utf-8")
    out = str(tmp_path / "run")
    config = ("--config", str(tmp_path / "own.toml"))
    assert main(["train", "data", "--out", out, *config, *FAST]) == 0
    model = Run.open(out).model
    assert (type(model.decoder).__name__, model.decoder.angle) == ("Rotation", 2.0)
    assert type(model.encoder).__name__ == "Plain"


def test_train_takes_classes_and_a_decoder(tmp_path):
    sys.path.append(str(Path.cwd()))
    import guest_classes

    named = train(graph(), SMALL, tmp_path / "a", decoder="guest_classes:Rotation")
    given = train(
        graph(), SMALL, tmp_path / "b", decoder=guest_classes.Rotation(6, angle=0.25),
        strategy=guest_classes.InverseRoot,
    )  # fmt: skip
    assert Run.open(named.run).config.model.angle == 1.0
    config = Run.open(given.run).config
    assert (config.model.entity_dim, config.model.angle) == (6, 0.25)
    assert (config.strategy.name, config.strategy.power) == ("guest_classes:InverseRoot", 0.5)


def test_the_estimator_takes_a_class_or_its_name(tmp_path):
    sys.path.append(str(Path.cwd()))
    import guest_classes
    from sklearn.base import clone

    triples = np.array(TOY["train"])
    options = {"model": {"entity_dim": 8, "angle": 0.5}, "runtime": {"threads": 1}}
    scores = []
    for model in (guest_classes.Rotation, "guest_classes:Rotation"):
        completer = KGCompleter(model=model, epochs=2, batch_size=4, validation=0.0, config=options)
        scores.append(clone(completer).fit(triples).decision_function(triples[:, :2]))
    assert np.array_equal(*scores)
    completer = KGCompleter.from_run("run")
    assert completer.model == "guest_classes:Rotation"


def test_from_run_asks_for_trust():
    with pytest.raises(CheckpointError, match="trust=True"):
        KGCompleter.from_run("run")
    assert KGCompleter.from_run("run", trust=True).run_.config.model.angle == 0.5


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_an_experiment_and_a_search_take_it(tmp_path, jobs):
    (tmp_path / "grid.toml").write_text(
        f"""
[experiment]
name = "own"
[grid]
data = ["{Path("data").resolve()}"]
model = ["distmult", "guest_classes:Rotation"]
strategy = ["guest_classes:InverseRoot"]
[settings]
training.epochs = 1
training.batch_size = 4
pretrain.enabled = false
model.entity_dim = 8
model.angle = 0.5
runtime.threads = 1
""",
        encoding="utf-8",
    )
    out = tmp_path / "out"
    assert main(["experiment", str(tmp_path / "grid.toml"), "--out", str(out), "--jobs", jobs]) == 0
    runs = [Run.open(path.parent).config for path in out.glob("runs/*/config.toml")]
    assert {(c.model.decoder, getattr(c.model, "angle", None)) for c in runs} == {
        ("distmult", None),
        ("guest_classes:Rotation", 0.5),
    }
    assert {c.strategy.name for c in runs} == {"guest_classes:InverseRoot"}


def test_a_class_that_cannot_be_made_is_named(capsys):
    args = ("--model", "guest_classes:Odd", *FAST, "--out", "odd")
    assert main(["train", "data", *args]) == 2
    said = capsys.readouterr().err
    assert "model.decoder guest_classes:Odd cannot be made: ValueError: bad geometry" in said


def test_an_own_option_is_searched_over():
    from dglkgmix.errors import ConfigError
    from dglkgmix.experiments.space import parse_space

    text = (
        '[settings]\nmodel.decoder = "guest_classes:Rotation"\n[space]\nmodel.angle = [0.5, {}]\n'
    )
    assert parse_space(text.format("1.0")).choices["model.angle"] == [0.5, 1.0]
    with pytest.raises(ConfigError, match=r"model.angle must be above 0, got -1.0"):
        parse_space(text.format("-1.0"))


def test_it_resumes_to_the_same_result(tmp_path):
    """Two epochs and two more are four."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    for out, epochs in ((whole, "4"), (part, "2")):
        args = ["--model", "guest_classes:Rotation", *FAST, "--epochs", epochs]
        assert main(["train", "data", "--out", str(out), *args]) == 0
    sys.modules.pop("guest_classes")
    classes._named.clear()
    more = ["train", "--resume", "--out", str(part), "--epochs", "4", "--quiet"]
    assert main(more) == 2
    assert main([*more, "--model", "guest_classes:Rotation"]) == 0  # named on this call
    assert (whole / "ranks-test.parquet").read_bytes() == (part / "ranks-test.parquet").read_bytes()


def test_settings_with_own_options_survive_toml():
    config = apply_overrides(SMALL, ["model.decoder=guest_classes:Rotation", "model.angle=0.75"])
    from dglkgmix.config.toml import loads

    assert loads(dumps(config)) == config
    back = apply_overrides(config, ["model.decoder=distmult"])
    assert (back.model.own, "angle" in dumps(back)) == ((), False)
    assert json.dumps(dumps(back)) == json.dumps(
        dumps(apply_overrides(SMALL, ["model.decoder=distmult"]))
    )


def test_metrics_are_in_every_table(capsys):
    own = ["--metric", "guest_classes:HITS_AT_2", "--metric", "guest_classes:MEDIAN"]
    assert main(["evaluate", "run", "--trust", "--json", *own]) == 0
    found = json.loads(capsys.readouterr().out)
    ranks = np.array(Run.open("run").rank_table("test")["rank"])
    assert found["overall"]["median"] == np.median(ranks)
    assert found["overall"]["hits@2"] == (ranks <= 2).mean()
    assert main(["evaluate", "run", "--trust", *own]) == 0
    assert "Hits@2  median rank" in capsys.readouterr().out
    assert main(["compare", "run", "run", *own]) == 0
    printed = capsys.readouterr()
    assert "Hits@2" in printed.out
    assert "Warning: guest_classes:MEDIAN is left out" in printed.err
    assert main(["report", "run", "--trust", "--out", "own.html", *own]) == 0
    assert "median rank" in Path("own.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["evaluate", "run", "--trust", "--json"]) == 0
    assert "median" not in json.loads(capsys.readouterr().out)["overall"]
