import shutil

import pytest
import torch

from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import CheckpointError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.rank_table import rank_split
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.prediction.answers import Predictor, Query
from dglkgmix.runs import checkpoint, run_files
from dglkgmix.runs.run import Run
from dglkgmix.runs.run_files import MODEL, STATE
from dglkgmix.training.launch import resume, train
from tests.graphs import same_triples

from .conftest import Stop, settings

SETTINGS = settings("model.entity_dim=18", "training.epochs=2")


@pytest.fixture(scope="module")
def graph():
    rows = [(f"e{i}", "next", f"e{(i + 1) % 12}") for i in range(12)]
    rows += [(f"e{i}", "skip", f"e{(i + 2) % 12}") for i in range(12)]
    return KnowledgeGraph.from_names(rows[:20], rows[20:22], rows[22:])


@pytest.fixture(scope="module")
def path(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run"
    train(graph, SETTINGS, path)
    return path


@pytest.fixture
def interrupted(graph, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(graph, SETTINGS, tmp_path / "cut", observers=[Stop(2)])
    return tmp_path / "cut"


def test_a_run_stands_alone(path, graph):
    run = Run.open(path)
    assert run.finished
    assert run.name == "run"
    assert run.kg.entities.names == graph.entities.names
    assert run.kg.relations.names == graph.relations.names
    assert same_triples(run.kg, graph)
    assert run.config.model.entity_dim == 18
    assert [row["epoch"] for row in run.history] == [1, 2]
    assert not run.model.training
    assert run.metrics["epochs"] == 2


def test_stored_and_computed_ranks_agree(path, monkeypatch):
    stored = Run.open(path).rank_table("test")
    monkeypatch.setattr(RunFolder, "has", lambda self, name: name == MODEL)
    assert Run.open(path).rank_table("test").table.equals(stored.table)


def test_its_account_is_what_training_stored(path):
    run = Run.open(path)
    assert run.account("test") == run.metrics["test"]
    assert run.account("valid") == run.metrics["valid"]
    platt = run.calibration()
    assert platt is not None
    assert {"scale": platt.scale, "offset": platt.offset} == run.metrics["platt"]


def test_probabilities_of_ranked_answers_are_stored(graph, tmp_path, monkeypatch):
    """Runs of 0.1.0 stored none: theirs are fitted anew, to the same numbers."""
    monkeypatch.setattr("dglkgmix.evaluation.list_probability.FEWEST", 1)
    train(graph, SETTINGS, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    stored = run.list_probability()
    assert stored is not None
    assert stored.to_dict() == run.metrics["shortlist"]
    assert run.account("test") == run.metrics["test"]
    assert run.account("valid") == run.metrics["valid"]
    assert run.metrics["test"]["shortlist"]["overall"]["answers"] > 0
    del run.metrics["shortlist"]
    anew = run.list_probability()
    assert anew is not None
    assert anew.intercept == pytest.approx(stored.intercept)
    assert anew.weights == pytest.approx(stored.weights)


def test_other_candidates_rank_anew(path):
    run = Run.open(path)
    observed = run.among("observed")
    table = observed.rank_table("test")
    assert (run.rank_table("test").rule, table.rule) == ("all", "observed")
    expected = rank_split(
        ModelScorer(run.model), run.kg, "test", candidates=Candidates.of(run.kg, "observed")
    )
    assert table.table.equals(expected.table)
    missed = int(table["missed"].sum())
    assert missed  # each entity is the tail of one *next* alone, or of none
    assert observed.account("test")["candidates"]["missed"] == missed
    assert run.among("all").rank_table("test").table.equals(run.rank_table("test").table)


def test_a_file_of_types_names_the_candidates(path, tmp_path):
    file = tmp_path / "types.tsv"
    rows = [f"e{i}\t{'even' if i % 2 == 0 else 'odd'}\n" for i in range(12)]
    file.write_text("".join(["entity\ttype\n", *rows]))
    typed = Run.open(path).among(types=file)
    assert typed.rank_table("test").rule == "types-file"


def test_an_interrupted_run_has_the_best_weights_of_its_last_state(interrupted):
    run = Run.open(interrupted)
    assert not run.finished
    state = checkpoint.unpack(interrupted / STATE)
    table = run.model.encoder.entity_table
    assert torch.equal(table, state["best"]["encoder.entity_table"])
    assert len(run.rank_table("test")) == 4
    assert run.calibration() is not None
    with pytest.raises(CheckpointError, match=r"has not finished.*train --resume --out"):
        _ = run.metrics


def test_without_any_state_there_is_no_model(interrupted):
    with RunFolder.resume(interrupted) as folder:
        folder.remove(STATE)
    with pytest.raises(CheckpointError, match="before its first state"):
        _ = Run.open(interrupted).model


FILES = {
    run_files.CONFIG: "config",
    run_files.ENTITIES: "kg",
    run_files.RELATIONS: "kg",
    run_files.TRIPLES: "kg",
    run_files.MODEL: "model",
    run_files.HISTORY: "history",
    run_files.METRICS: "metrics",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fault", ["missing", "empty", "truncated", "flipped"])
def test_a_damaged_file_is_named(path, tmp_path, name, fault):
    shutil.copytree(path, tmp_path / "copy")
    file = tmp_path / "copy" / name
    content = file.read_bytes()
    if fault == "missing":
        file.unlink()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        file.write_bytes({"empty": b"", "truncated": content[:middle], "flipped": flipped}[fault])
    with pytest.raises(CheckpointError, match=name):
        getattr(Run.open(tmp_path / "copy"), FILES[name])


def forged(path, copy, name, content):
    """A copy of the run with other content under a seal that fits it."""
    shutil.copytree(path, copy)
    with RunFolder.resume(copy) as folder:
        folder.write(name, content)
    return Run.open(copy)


def test_files_that_do_not_fit_each_other_are_refused(path, tmp_path):
    weights = checkpoint.unpack_weights(path / MODEL)
    weights["encoder.entity_table"] = weights["encoder.entity_table"][:-1]
    run = forged(path, tmp_path / "weights", MODEL, checkpoint.pack_weights(weights))
    with pytest.raises(CheckpointError, match=r"model.safetensors does not fit the model"):
        _ = run.model
    relations = (path / run_files.RELATIONS).read_bytes()
    with pytest.raises(CheckpointError, match="does not hold together"):
        _ = forged(path, tmp_path / "graph", run_files.ENTITIES, relations).kg


def test_odd_names_come_back_everywhere(tmp_path):
    """Cases 6 and 7: relations named like attributes, entities like missing values."""
    relations = ["type", "keys", "to", "/a/b./c"]
    entities = ["NA", "nan", "null", "None", "inf", "True"]
    rows = [(e, relations[i % 4], entities[(i + 1) % 6]) for i, e in enumerate(entities)]
    more = [(entities[0], name, entities[i]) for i, name in enumerate(relations)]
    small = ["model.encoder=rgcn", "training.batch_size=4"]
    kg = KnowledgeGraph.from_names(rows + more, rows[:1], rows[1:3])
    train(kg, apply_overrides(SETTINGS, small), tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert set(run.kg.relations.names) == set(relations)
    assert set(run.kg.entities.names) == set(entities)
    ranked = run.rank_table("test")
    names = {column: set(ranked.names(column).to_pylist()) for column in ("relation", "head")}
    assert names == {"relation": {"keys", "to"}, "head": {"nan", "null"}}
    query = Query(head="NA", relation="/a/b./c")
    found = Predictor(run.kg, ModelScorer(run.model), run.list_probability()).predict(query)
    assert {answer.name for answer in found.answers} == set(entities)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"bias = true", b'bias = "auto"', "model.bias is still 'auto'"),
        (b"_dim = 18", b"_dim = 1000000000", "config.toml: model.entity_dim must be .* at most"),
        (b"_dim = 18", b"_dim = 360", "encoder.entity_table is .* ask for"),
        (b"_dim = 18", b"_dim = 0", "config.toml: model.entity_dim must be 1 or more"),
        (b'decoder = "conve"', b'decoder = "conva"', "config.toml: model.decoder: expected"),
        (b'source = ""', b'source = "\xff"', "config.toml: not UTF-8"),
    ],
)
def test_settings_that_lie_are_refused(path, tmp_path, old, new, message):
    """Found by changing files under a seal that fits: a digest says nothing of sense."""
    content = (path / run_files.CONFIG).read_bytes()
    assert old in content
    run = forged(path, tmp_path / "copy", run_files.CONFIG, content.replace(old, new))
    with pytest.raises(CheckpointError, match=message):
        _ = run.model


def test_results_that_are_damaged_are_made_anew(path, tmp_path):
    """As the message says: `train --resume` makes results of the last state, to the bit."""
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    (copy / MODEL).unlink()
    (copy / run_files.HISTORY).write_bytes(b"")
    (copy / run_files.METRICS).write_bytes(b"{}")
    with pytest.raises(CheckpointError, match="train --resume --out"):
        _ = Run.open(copy).model
    with RunFolder.resume(copy) as folder:
        resume(folder, run_files.read_graph(folder), run_files.read_config(folder))
    assert (copy / MODEL).read_bytes() == (path / MODEL).read_bytes()
    assert Run.open(copy).history == Run.open(path).history
    assert Run.open(copy).metrics["test"] == Run.open(path).metrics["test"]


def test_a_run_from_a_gpu_loads_without_one(path, tmp_path):
    text = (path / run_files.CONFIG).read_text().replace('device = "cpu"', 'device = "cuda:0"')
    run = forged(path, tmp_path / "copy", run_files.CONFIG, text.encode())
    assert run.config.runtime.device == "cuda:0"
    assert run.model.encoder.entity_table.device.type == "cpu"
    assert run.calibration() is not None
