import json

import pytest
from click.testing import CliRunner

from dglkgmix.cli.tune import tune
from dglkgmix.config.toml import loads
from dglkgmix.errors import ConfigError
from dglkgmix.experiments.recipes import packaged_text
from dglkgmix.runs.run import Run
from tests.cli.conftest import call

BEST = {"number": 3, "value": 0.25, "options": {"training.lr": 0.5}}


@pytest.fixture
def calls(monkeypatch):
    made = []

    def search(plan, trials, say, overwrite):
        made.append((plan, trials, overwrite))
        say("trial 0")
        return {"study": "x", "storage": "y", "trials": 4, "best": BEST, "recipe": "out/best.toml"}

    monkeypatch.setattr("dglkgmix.experiments.tune.search", search)
    return made


@pytest.fixture
def space(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("[settings]\ntraining.epochs = 2\n[space]\ntraining.lr = [0.5]\n")
    return str(path)


def test_options_become_a_search(calls, space, tmp_path):
    found = call(
        tune,
        *("world", "--space", space, "--trials", 4, "--out", tmp_path / "out"),
        *("--objective", "mix", "--weight", 0.25, "--storage", "sqlite:///x.db"),
        *("--set", "training.epochs=7", "--set", "model.decoder=rescal", "--sampler-seed", 5),
        "--overwrite",
    )
    ((plan, trials, overwrite),) = calls
    assert overwrite
    assert (trials, plan.storage, plan.sampler_seed) == (4, "sqlite:///x.db", 5)
    assert (plan.goal.objective, plan.goal.weight) == ("mix", 0.25)
    assert (plan.base.data.source, plan.base.model.decoder) == ("world", "rescal")
    assert plan.base.training.epochs == 7
    assert found.stdout.splitlines() == [
        "Best of 4 trials: number 3, mix of validation 0.2500",
        "  training.lr = 0.5",
        "Recipe: out/best.toml",
    ]
    assert found.stderr == "trial 0\n"


def test_a_source_is_read_as_options_say(space, tmp_path):
    """The names of columns, a delimiter and shares: 6 of 12 rows are left for training."""
    rows = [f"e{i};r;e{(i + 1) % 4}" for i in range(4)] + [f"e{i};s;e{i % 4}" for i in range(4)]
    rows += [f"e{i};t;e{(i + 2) % 4}" for i in range(4)]
    (tmp_path / "kg.csv").write_text("\n".join(["h;how;t", *rows]) + "\n")
    call(
        tune,
        *(tmp_path / "kg.csv", "--space", space, "--trials", 1, "--quiet"),
        *("--out", tmp_path / "out", "--header", "--columns", "h,how,t"),
        *("--delimiter", ";", "--shares", "0.5,0.25,0.25", "--split-seed", 3),
        *("--split-mirrors", "apart"),
        *("--set", "model.decoder=distmult", "--set", "model.entity_dim=4"),
    )
    (trial,) = (tmp_path / "out" / "trials").iterdir()
    assert sorted(Run.open(trial).kg.relations.names) == ["r", "s", "t"]
    assert [len(Run.open(trial).kg.split(s)) for s in ("train", "valid", "test")] == [6, 3, 3]
    best = loads((tmp_path / "out" / "best.toml").read_text().partition("\n\n")[2]).data
    assert (best.header, best.columns, best.delimiter) == (True, ("h", "how", "t"), ";")
    assert (best.split, best.split_seed) == ((0.5, 0.25, 0.25), 3)


def test_json_and_quiet(calls, space, tmp_path):
    found = call(tune, "world", "--space", space, "--out", tmp_path, "--json", "--quiet")
    assert json.loads(found.stdout)["best"] == BEST
    assert found.stderr == ""


def test_no_completed_trial_is_a_failure(space, tmp_path, monkeypatch):
    empty = {"trials": 4, "best": None, "recipe": None, "error": "the disk is full"}
    monkeypatch.setattr("dglkgmix.experiments.tune.search", lambda *a, **k: empty)
    found = CliRunner().invoke(tune, ["world", "--space", space, "--out", str(tmp_path)])
    assert found.exit_code == 1
    assert "none of 4 trials could be completed; the last: the disk is full" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--space", "paper-conve", "--out", "x"], "SOURCE is missing"),
        (["world", "--space", "paper-conve"], "--out is missing"),
        (
            ["world", "--space", "paper-conve", "--out", "x", "--weight", "0.3"],
            "--weight has no use with --objective mrr",
        ),
    ],
)
def test_what_is_missing_is_named(arguments, message):
    found = CliRunner().invoke(tune, arguments)
    assert isinstance(found.exception, ConfigError)
    assert message in str(found.exception)


def test_the_packaged_space_can_be_shown_and_help_has_one():
    shown = call(tune, "--space", "paper-tucker", "--show-space").stdout
    assert shown == packaged_text("spaces", "paper-tucker")
    text = call(tune, "--help").stdout
    assert "training.lr = { low = 1e-4, high = 1e-2, log = true }" in text
