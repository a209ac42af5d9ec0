import json
import re
import shutil

import pytest
import torch

from dglkgmix.cli.main import main
from dglkgmix.cli.train import _resuming
from dglkgmix.config import Config, classes
from dglkgmix.config.toml import loads
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.transe import TransE
from dglkgmix.runs.results import Result as Outcome
from dglkgmix.runs.run import Run
from dglkgmix.training.defaults import learning_rate
from tests.conftest import TOY, write_splits

SMALL = ("--set", "model.entity_dim=8", "--set", "runtime.threads=1", "--epochs", "2")
SIX = ("--set", "model.entity_dim=6", "--set", "model.relation_dim=6")
FAST = ("--model", "distmult", *SMALL)


@pytest.fixture
def run(capsys, tmp_path):
    def call(*args):
        status = main(["train", *map(str, args)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of the toy graph, not to be changed."""
    folder = write_splits(tmp_path_factory.mktemp("finished"), TOY)
    assert main(["train", str(folder), "--out", str(folder / "run"), "--quiet", *FAST]) == 0
    return folder / "run"


def test_it_ends_with_the_test_table_and_the_place_of_the_run(run, toy_folder, tmp_path):
    status, out, err = run(toy_folder, "--out", tmp_path / "run", *FAST)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split() == ["queries", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean", "rank"]
    assert [line.split()[0] for line in lines[1:6]] == ["test", "zero", "low", "medium", "high"]
    assert lines[1].split()[1:3] == ["overall", "4"]
    popularity = json.loads((tmp_path / "run" / "metrics.json").read_text())["popularity_mrr"]
    assert lines[-2] == f"Ranking by popularity alone: MRR {popularity:.4f}"
    assert re.fullmatch(
        rf"Run: {re.escape(str(tmp_path / 'run'))} \(best epoch [12] of 2\)", lines[-1]
    )
    assert "train 2/2 loss" in err


def test_json_holds_what_evaluate_prints(run, toy_folder, tmp_path):
    status, out, err = run(toy_folder, "--out", tmp_path / "run", "--json", "--quiet", *FAST)
    assert status == 0
    assert "train 2/2" not in err
    found = json.loads(out)
    assert found["run"] == str(tmp_path / "run")
    assert found["epochs"] == 2
    assert found["test"] == json.loads(json.dumps(Run.open(tmp_path / "run").account("test")))
    assert found["valid"]["overall"]["queries"] == 4


def test_show_config_prints_toml_and_writes_nothing(run, toy_folder, tmp_path):
    status, out, _ = run("--show-config", "--lr", "0.5", "--no-swa")
    assert status == 0
    assert loads(out).training.lr == 0.5
    assert loads(out).swa.enabled is False
    assert loads(out).training.batch_size == "auto"
    status, out, _ = run(toy_folder, "--show-config", "--out", tmp_path / "run")
    assert status == 0
    assert loads(out).data.source == str(toy_folder)
    assert 'batch_size = "auto"  # 8\n' in out
    assert not (tmp_path / "run").exists()


def test_recipe_file_flags_and_overrides_win_in_that_order(run, tmp_path):
    (tmp_path / "mine.toml").write_text("[training]\nlr = 0.5\nn3 = 0.25\n")
    recipe = ("--show-config", "--recipe", "fb15k-237-conve-mixup", "--set", "data.source=''")
    _, out, _ = run(*recipe)
    assert loads(out).training.lr == 0.0001
    assert loads(out).pretrain.epochs == 500
    _, out, _ = run(*recipe, "--config", tmp_path / "mine.toml", "--epochs", "2")
    assert loads(out).training.lr == 0.5
    assert (loads(out).training.epochs, loads(out).pretrain.epochs) == (2, 2)
    flags = ("--config", tmp_path / "mine.toml", "--lr", "0.125", "--set", "training.n3=0.75")
    _, out, _ = run(*recipe, *flags, "--epochs", "2", "--set", "pretrain.epochs=9")
    assert (loads(out).training.lr, loads(out).training.n3) == (0.125, 0.75)
    assert loads(out).pretrain.epochs == 9


@pytest.mark.parametrize(
    ("recipe", "model", "warned"),
    [
        ("codex-s-complex", "conve", True),
        ("codex-s-complex", "complex", False),
        ("mine.toml", "conve", False),
    ],
)
@pytest.mark.parametrize("shown", [True, False])
def test_a_recipe_for_another_decoder_is_told(
    run, toy_folder, tmp_path, recipe, model, warned, shown
):
    if recipe == "mine.toml":
        recipe = tmp_path / recipe
        recipe.write_text("[training]\nepochs = 1\n")
    small = ("--set", "model.entity_dim=6", "--set", "model.relation_dim=6", "--batch-size", "8")
    then = ("--show-config",) if shown else ("--out", tmp_path / "run", "--epochs", "1")
    _, _, err = run(toy_folder, "--recipe", recipe, "--model", model, *small, *then)
    told = "Warning: recipe codex-s-complex was chosen for complex: what you do not set yourself"
    assert (told in err) == warned


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "--out is missing"),
        (("--out", "{run}"), "SOURCE is missing"),
        (("{toy}", "--out", "{run}", "--set", "training.rate=1"), "unknown option 'training.rate'"),
        (("{toy}", "--out", "{run}", "--batch-size", "500"), "training.batch_size 500 exceeds"),
        (("{toy}", "--out", "{run}", "--recipe", "nothing"), "unknown recipe 'nothing'"),
        (("{toy}", "--out", "{run}", "--config", "no.toml"), "no.toml: cannot be read"),
        (("{toy}", "--out", "{run}", "--model", "convee"), "'convee' is not one of"),
        (
            ("{toy}", "--out", "{run}", "--model", "nowhere:Model"),
            "Error: --model: model.decoder: nowhere:Model cannot be imported",
        ),
        (("{toy}-not", "--out", "{run}"), "toy-not"),
        (("{toy}", "--out", "{run}", "--device", "cuda:77"), "runtime.device 'cuda:77'"),
        (("--resume", "--out", "{run}"), "no such run folder"),
        (("{toy}", "--out", "{toy}"), "--overwrite"),
        (("{toy}", "--out", ""), "is empty: name a file or folder"),
        (("{toy}", "--out", "{run}", "--recipe", ""), "is empty"),
        (("{toy}", "--out", "{run}", "--pretrained", ""), "is empty"),
        (("{toy}", "--out", "{run}", "--alpha", "1"), "--alpha (strategy.alpha) is given, but"),
        (
            ("{toy}", "--out", "{run}", "--set", "data.source=world"),
            "as 'world' (SOURCE or --set data.source): give one",
        ),
    ],
)
def test_wrong_usage_ends_with_two_and_one_line(run, toy_folder, tmp_path, args, message):
    filled = [arg.format(run=tmp_path / "run", toy=toy_folder) for arg in args]
    status, out, err = run(*filled)
    assert status == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_foreign_files_are_refused_and_survive_an_overwrite(run, toy_folder, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    status, _, err = run(toy_folder, "--out", folder, *FAST)
    assert status == 2
    assert "thesis.txt" in err
    assert run(toy_folder, "--out", folder, "--overwrite", *FAST)[0] == 0
    assert run(toy_folder, "--out", folder, "--overwrite", *FAST)[0] == 0
    assert (folder / "thesis.txt").read_text() == "years of work"


def test_a_resume_needs_no_source_and_takes_more_epochs_and_other_threads(run, finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    machine = ("--device", "cpu", "--set", "runtime.threads=2")
    status, _, err = run("--resume", "--out", tmp_path / "run", "--epochs", "4", *machine)
    assert status == 0
    assert "Going on after epoch 2 of stage 'train'" in err
    assert [row["epoch"] for row in Run.open(tmp_path / "run").history] == [1, 2, 3, 4]
    assert Run.open(tmp_path / "run").config.training.epochs == 4
    assert Run.open(tmp_path / "run").config.runtime.threads == 2
    status, _, err = run("--resume", "--out", tmp_path / "run")
    assert status == 0
    assert "Nothing is left to train: 4 epochs are done." in err
    status, _, err = run("world", "--out", tmp_path / "run")
    assert status == 2
    assert "choose another folder, pass --resume to go on with the run in it, or pass --over" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--overwrite",), "--resume goes on with the run in --out and --overwrite replaces it"),
        (("--show-config",), "a run's settings are in its config.toml"),
        (("--show-config", "--json"), "--show-config prints TOML: leave --json out"),
        (("--epochs", "1"), "training.epochs is 1 now, and 2 epochs are trained already"),
        (("--patience", "5"), "the training is over after 2 epochs"),
        (("--lr", "0.7"), "training.lr is 0.1 in the run and 0.7 now"),
        (("--strategy", "mixup"), "strategy.name is 'standard' in the run and 'mixup' now"),
        (("other",), "data.source is"),
        (("--recipe", "codex-s-conve"), "--resume takes the run's own settings"),
    ],
)
def test_a_resume_refuses_other_settings_by_name(run, finished, tmp_path, args, message):
    shutil.copytree(finished, tmp_path / "run")
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    status, _, err = run("--resume", "--out", tmp_path / "run", *args)
    assert status == 2
    assert message in err
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


def test_a_resume_before_anything_was_written_begins(run, toy_folder, tmp_path):
    status, _, err = run(toy_folder, "--resume", "--out", tmp_path / "run", *FAST)
    assert status == 0
    assert "Nothing to resume yet" in err
    assert Run.open(tmp_path / "run").finished
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "manifest.json").write_text("{}")
    assert run("--resume", "--out", tmp_path / "half")[0] == 2


@pytest.fixture
def grown(toy_folder):
    """The toy graph with one more entity, in one triple of train and one of test."""
    for split, row in {"train": "a\tlikes\tx\n", "test": "x\tknows\tc\n"}.items():
        file = toy_folder / f"{split}.txt"
        file.write_text(row + file.read_text())
    return toy_folder


@pytest.mark.parametrize(
    ("args", "there"), [((), False), (("--overwrite",), True), (("--resume",), True)]
)
def test_an_interrupt_promises_only_what_was_saved(
    run, toy_folder, finished, tmp_path, monkeypatch, args, there
):
    """Before the first file a resume would find no run, or an older one in its place."""

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    out = tmp_path / "run"
    if there:
        shutil.copytree(finished, out)
    monkeypatch.setattr("dglkgmix.training.launch.train", interrupted)
    monkeypatch.setattr("dglkgmix.training.launch.resume", interrupted)
    source = [] if "--resume" in args else [toy_folder]
    settings = [] if "--resume" in args else FAST
    status, _, err = run(*source, "--out", out, *args, *settings)
    assert status == 130
    assert ("dglkgmix train --resume" in err) == ("--resume" in args)
    assert ("Nothing was saved yet" in err) == ("--resume" not in args)


def test_pretrained_tables_take_the_place_of_the_first_stage(run, finished, grown, tmp_path):
    status, _, err = run(grown, "--out", tmp_path / "a", "--pretrained", finished, *FAST)
    assert status == 0, err
    assert f"Starting from {finished}, which knows 5 of 6 entities and 3 of 3 relations" in err
    made = Run.open(tmp_path / "a")
    assert [row["stage"] for row in made.history] == ["train", "train"]
    assert made.new_entities == {"x"}


def test_from_takes_weights_and_settings_and_tells_new_entities_apart(
    run, finished, grown, tmp_path
):
    args = (grown, "--out", tmp_path / "a", "--from", finished)
    status, out, err = run(*args, "--set", "training.lr=1e-9", "--set", "training.loss=ce")
    assert status == 0, err
    made = Run.open(tmp_path / "a")
    assert made.config.model.decoder == "distmult"  # FAST's, as are the dimension and 2 epochs
    assert made.config.model.entity_dim == 8
    assert made.config.training.epochs == 1
    assert made.config.training.loss == "ce"
    assert made.config.training.parent == str(finished)
    tables = [(each.kg, each.model.encoder.entity_table) for each in (made, Run.open(finished))]
    after, before = (table[kg.entities.ids(list("abcd"))] for kg, table in tables)
    assert torch.allclose(after, before, atol=1e-6)
    # The two queries of (x, knows, c) are about a new entity.
    table = made.rank_table()
    asked = [name == "x" for name in table.names("head").to_pylist()]
    mrr = (1 / table["rank"])[asked].mean()
    new = json.loads((tmp_path / "a" / "metrics.json").read_text())["test"]["entities"]["new"]
    assert new["queries"] == 2
    assert new["mrr"] == pytest.approx(mrr)
    line = next(line for line in out.splitlines() if "new entities" in line)
    assert line.split()[:4] == ["new", "entities", "2", f"{mrr:.4f}"]
    assert main(["evaluate", str(tmp_path / "a")]) == 0


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("--from", "{run}", "--recipe", "codex-s-mixup"), "--from takes the settings of RUN"),
        (("--from", "{run}", "--pretrained", "{run}"), "takes the place of a first stage"),
        (("--from", "{run}", "--pretrain"), "takes the place of a first stage"),
        (("--from", "{run}", "--model", "tucker"), "model.decoder is 'distmult' and this"),
        (("--from", "{run}", *SIX), "of shape (8,) there and of shape (6,) here: give [model]"),
        (("--from", "nowhere"), "no such run folder"),
        (("--from", ""), "is empty"),
    ],
)
def test_what_from_does_not_go_with_is_refused_before_anything_is_written(
    run, finished, toy_folder, tmp_path, args, complaint
):
    given = [arg.format(run=finished) for arg in args]
    status, _, err = run(toy_folder, "--out", tmp_path / "out", *given)
    assert status == 2
    assert complaint in err
    assert not (tmp_path / "out").exists()


def test_one_file_is_split_and_options_of_reading_are_recorded(run, tmp_path):
    rows = [f"e{i},r{i % 2},e{(i * 7 + 3) % 20}" for i in range(40)]
    (tmp_path / "mine.csv").write_text("von,was,nach\n" + "\n".join(rows) + "\n")
    reading = ("--header", "--columns", "von,was,nach", "--shares", "0.6,0.2,0.2")
    status, _, err = run(tmp_path / "mine.csv", "--out", tmp_path / "run", *reading, *FAST)
    assert status == 0, err
    made = Run.open(tmp_path / "run")
    assert made.config.data.columns == ("von", "was", "nach")
    assert made.config.data.split == (0.6, 0.2, 0.2)
    assert sum(len(made.kg.split(name)) for name in ("train", "valid", "test")) == 40


def test_without_held_out_triples_it_says_so(run, toy_folder, tmp_path):
    for split in ("valid", "test"):
        (toy_folder / f"{split}.txt").unlink()
    status, out, err = run(toy_folder, "--out", tmp_path / "run", *FAST)
    assert status == 0
    assert "No validation triples" in err
    assert "nothing was evaluated" in out


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_events_go_where_they_are_wanted(run, toy_folder, tmp_path):
    pytest.importorskip("tensorboard")
    args = ("--tensorboard", tmp_path / "events")
    assert run(toy_folder, "--out", tmp_path / "run", *FAST, *args)[0] == 0
    assert list((tmp_path / "events" / "train").glob("events.*"))


def test_the_config_file_of_a_run_repeats_it(run, finished, tmp_path):
    args = ("--config", finished / "config.toml", "--out", tmp_path / "again", "--quiet")
    assert run(*args)[0] == 0
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (
        finished / "model.safetensors"
    ).read_bytes()


def test_defaults_are_the_configurations_own(run):
    assert loads(run("--show-config")[1]) == Config()


@pytest.mark.parametrize(("mrr", "warned"), [(0.096, True), (0.1015, False), (0.3, False)])
def test_a_model_below_popularity_is_warned_of(run, toy_folder, tmp_path, monkeypatch, mrr, warned):
    """As an R-GCN after 20 epochs on CoDEx-S: 0.0960 against 0.1015."""
    found = Outcome("x", 20, 20, 20, 1.0, 0.1015, None, {"overall": {"mrr": mrr}})
    monkeypatch.setattr("dglkgmix.training.launch.train", lambda *_, **__: found)
    _, out, err = run(toy_folder, "--out", tmp_path / "run", "--json", *FAST)
    assert json.loads(out)["popularity_mrr"] == 0.1015
    assert ("Warning: the model's MRR, 0.0960, is below 0.1015" in err) == warned
    assert ("is below" in err) == warned


def test_the_help_tells_the_learning_rates_that_are_taken(run):
    text = " ".join(run("--help")[1].split())
    rates = (("adam", 2 * 25_000 - 2), ("adam", 2 * 25_000), ("adagrad", 1))
    small, large, adagrad = (learning_rate(*rate, Decoder) for rate in rates)
    rule = f"Adam: {small} below 25,000 training triples and for TransE, else {large}"
    assert f"{rule}; Adagrad: {adagrad}" in text
    assert learning_rate("adam", 2 * 25_000, TransE) == small


def test_the_command_that_goes_on_trusts_classes_that_were_named(monkeypatch):
    options = {"out": "run", "processes": None}
    monkeypatch.setattr(classes, "_named", {})
    assert _resuming(options) == "dglkgmix train --resume --out run"
    monkeypatch.setattr(classes, "_named", {"my_module:Rotation": Decoder})
    assert _resuming(options) == "dglkgmix train --resume --out run --trust"
