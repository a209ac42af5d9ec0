from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.run import Run
from dglkgmix.training import checkpoint, run_files
from dglkgmix.training.config import Config
from dglkgmix.training.config_io import apply_overrides
from dglkgmix.training.launch import train
from dglkgmix.training.run_files import MODEL, STATE

SETTINGS = apply_overrides(
    Config(),
    [
        "model.entity_dim=18",
        "model.filters=2",
        "training.epochs=2",
        "training.batch_size=16",
        "training.validate_every=1",
        "runtime.threads=1",
        "runtime.device=cpu",
    ],
)


@pytest.fixture(scope="module")
def graph() -> KnowledgeGraph:
    rows = [(f"e{i}", "next", f"e{(i + 1) % 12}") for i in range(12)]
    rows += [(f"e{i}", "skip", f"e{(i + 2) % 12}") for i in range(12)]
    return KnowledgeGraph.from_names(rows[:20], rows[20:22], rows[22:])


@pytest.fixture(scope="module")
def path(graph: KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(graph, SETTINGS, path)
    return path


@pytest.fixture
def interrupted(graph: KnowledgeGraph, tmp_path: Path) -> Path:
    class Stop:
        def write(self, row: object) -> None:
            if row.epoch == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, SETTINGS, tmp_path / "cut", observers=[Stop()])
    return tmp_path / "cut"


def test_a_run_stands_alone(path: Path, graph: KnowledgeGraph) -> None:
    run = Run.open(path)
    assert run.finished
    assert run.name == "run"
    assert run.kg.entities.names == graph.entities.names
    assert run.kg.relations.names == graph.relations.names
    for split in ("train", "valid", "test"):
        assert torch.equal(run.kg.split(split), graph.split(split))
    assert run.config.model.entity_dim == 18
    assert [row["epoch"] for row in run.history] == [1, 2]
    assert not run.model.training
    assert run.metrics["epochs"] == 2


def test_stored_and_computed_ranks_agree(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Run.open(path).rank_table("test")
    monkeypatch.setattr(RunFolder, "has", lambda self, name: name == MODEL)
    assert Run.open(path).rank_table("test").table.equals(stored.table)


def test_its_account_is_what_training_stored(path: Path) -> None:
    run = Run.open(path)
    assert run.account("test") == run.metrics["test"]
    assert run.account("valid") == run.metrics["valid"]
    platt = run.calibration()
    assert platt is not None
    assert {"scale": platt.scale, "offset": platt.offset} == run.metrics["platt"]


def test_an_interrupted_run_has_the_best_weights_of_its_last_state(interrupted: Path) -> None:
    run = Run.open(interrupted)
    assert not run.finished
    state = checkpoint.unpack((interrupted / STATE).read_bytes())
    table = run.model.encoder.entity_table
    assert torch.equal(table, state["best"]["encoder.entity_table"])
    assert len(run.rank_table("test")) == 4
    assert run.calibration() is not None
    with pytest.raises(CheckpointError, match=r"has not finished.*train --resume --out"):
        _ = run.metrics


def test_without_any_state_there_is_no_model(interrupted: Path) -> None:
    with RunFolder.resume(interrupted) as folder:
        folder.remove(STATE)
    with pytest.raises(CheckpointError, match="before its first state"):
        _ = Run.open(interrupted).model


def test_no_folder_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such run folder"):
        Run.open(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match="not a run folder"):
        Run.open(tmp_path / "empty")


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
def test_a_damaged_file_is_named(path: Path, tmp_path: Path, name: str, fault: str) -> None:
    import shutil

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


def test_weights_that_do_not_fit_the_vocabulary_are_refused(path: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(path, tmp_path / "copy")
    weights = checkpoint.unpack_weights((path / MODEL).read_bytes())
    weights["encoder.entity_table"] = weights["encoder.entity_table"][:-1]
    with RunFolder.resume(tmp_path / "copy") as folder:
        folder.write(MODEL, checkpoint.pack_weights(weights))
    with pytest.raises(CheckpointError, match=r"model.safetensors does not fit the model"):
        _ = Run.open(tmp_path / "copy").model


def test_a_graph_that_does_not_hold_together_is_refused(path: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(path, tmp_path / "copy")
    with RunFolder.resume(tmp_path / "copy") as folder:
        folder.write(run_files.ENTITIES, folder.read(run_files.RELATIONS))
    with pytest.raises(CheckpointError, match="does not hold together"):
        _ = Run.open(tmp_path / "copy").kg


def test_a_run_from_a_gpu_loads_without_one(path: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(path, tmp_path / "copy")
    text = (path / run_files.CONFIG).read_text().replace('device = "cpu"', 'device = "cuda:0"')
    with RunFolder.resume(tmp_path / "copy") as folder:
        folder.write(run_files.CONFIG, text.encode())
    run = Run.open(tmp_path / "copy")
    assert run.config.runtime.device == "cuda:0"
    assert run.model.encoder.entity_table.device.type == "cpu"
    assert run.calibration() is not None
