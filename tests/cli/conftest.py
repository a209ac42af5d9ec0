import json

import pytest
from click.testing import CliRunner

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.evaluation.list_probability import FEATURES, ListProbability
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train
from tests.conftest import write_splits

SETTINGS = (
    *("model.decoder=distmult", "model.entity_dim=8", "training.epochs=2", "training.loss=bce"),
    *("training.batch_size=16", "runtime.threads=1", "runtime.device=cpu"),
    "runtime.precision=fp32",
)
# Names that would steer a terminal or be a formula in a spreadsheet.
RED, FORMULA = "\x1b[31mred", "=1+1"


def ring_rows():
    """A ring of 12 entities with a second relation that skips one; "lone" stands in test alone."""
    names = [RED, FORMULA, *(f"e{i}" for i in range(2, 12))]
    rows = [(names[i], "next", names[(i + 1) % 12]) for i in range(12)]
    rows += [(names[i], "skip", names[(i + 2) % 12]) for i in range(12)]
    return {
        "train": rows[:8] + rows[12:21],
        "valid": [rows[i] for i in (8, 9, 21)],
        "test": [rows[i] for i in (10, 11, 22, 23)] + [("lone", "next", "e5")],
    }


@pytest.fixture(scope="session")
def make_run(tmp_path_factory):
    """``make_run(name, *overrides, folder=None, rows=None)``: the path of a finished run."""

    def make(name, *overrides, folder=None, rows=None, observers=()):
        config = apply_overrides(Config(), [*SETTINGS, *overrides])
        path = (folder or tmp_path_factory.mktemp("runs")) / name
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("os.fsync", lambda _: None)
            train(
                KnowledgeGraph.from_names(**(rows or ring_rows())),
                config,
                path,
                observers=observers,
            )
        return path

    return make


@pytest.fixture
def listed(monkeypatch):
    """Probabilities of ranked answers for every run: by score alone."""
    fitted = ListProbability(-1.0, tuple(float(name == "score") for name in FEATURES), {})
    monkeypatch.setattr(Run, "list_probability", lambda self: fitted)
    return fitted


@pytest.fixture(scope="session")
def run(make_run):
    return make_run("plain")


@pytest.fixture(scope="session")
def interrupted(make_run, tmp_path_factory):
    """Stopped after the second of three epochs, each of which was stored."""

    class Stop:
        def write(self, row):
            if row.epoch == 3:
                raise KeyboardInterrupt

    folder = tmp_path_factory.mktemp("runs")
    overrides = ("training.epochs=3", "training.validate_every=1", "runtime.save_every=1")
    with pytest.raises(KeyboardInterrupt):
        make_run("cut", *overrides, folder=folder, observers=[Stop()])
    return folder / "cut"


@pytest.fixture(scope="session")
def other(make_run):
    return make_run("other", "runtime.seed=1", "training.loss=ce")


@pytest.fixture(scope="session")
def ring_folder(tmp_path_factory):
    """The triples that the runs are trained on, as files."""
    return write_splits(tmp_path_factory.mktemp("ring"), ring_rows())


def call(command, *arguments):
    """Run a command that is expected to succeed."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result


def call_json(command, *arguments):
    return json.loads(call(command, *arguments, "--json").stdout)
