import pytest

from dglkgmix.cli.export import export
from dglkgmix.errors import ConfigError
from tests.cli.conftest import call


def test_files_are_written_and_listed(run, tmp_path):
    out, names = tmp_path / "vectors", ["entities.txt", "reciprocals.txt", "relations.txt"]
    result = call(export, run, "--format", "word2vec", "--out", out)
    assert sorted(path.name for path in out.iterdir()) == names
    assert sorted(result.stdout.split()) == [str(out / name) for name in names]


def test_an_earlier_export_is_kept_unless_asked(run, tmp_path):
    call(export, run, "--out", tmp_path)
    with pytest.raises(ConfigError, match="--overwrite"):
        call(export, run, "--out", tmp_path)
    call(export, run, "--out", tmp_path, "--overwrite")


def test_a_run_is_never_overwritten(run):
    before = (run / "entities.parquet").read_bytes()
    with pytest.raises(ConfigError, match="is a run folder"):
        call(export, run, "--out", run, "--overwrite")
    assert (run / "entities.parquet").read_bytes() == before
