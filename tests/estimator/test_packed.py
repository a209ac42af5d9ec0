"""A run in memory."""

import pickle

import pytest

from dglkgmix.errors import CheckpointError
from dglkgmix.estimator import PackedRun
from dglkgmix.runs.run import Run


def test_down_on_disk_and_back(fitted, tmp_path):
    fitted.run_.write(tmp_path / "run")
    opened, packed = Run.open(tmp_path / "run"), PackedRun.pack(tmp_path / "run")
    for run in (opened, packed, pickle.loads(pickle.dumps(packed))):
        assert run.metrics == fitted.run_.metrics
        assert run.config == fitted.run_.config
        assert list(run.kg.entities) == list(fitted.classes_)


def test_an_existing_folder_is_kept_unless_told(fitted, tmp_path):
    (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"or pass .*overwrite=True in Python\) to replace"):
        fitted.save(tmp_path)
    fitted.save(tmp_path, overwrite=True)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "kept"
    assert Run.open(tmp_path).finished


def test_what_is_not_there_is_named(fitted):
    with pytest.raises(CheckpointError, match="ranks-test"):
        fitted.run_.folder.read("ranks-test.parquet")
    with pytest.raises(CheckpointError):
        PackedRun.pack("/nowhere")
