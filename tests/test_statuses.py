"""Every way in which a command ends with an error, again and again: the status is always the same.

A thread of a library that outlives the command shows as status 134, once in a few calls.
"""

import subprocess
import sys
from collections import Counter

import pytest

from dglkgmix.cli.main import COMMANDS
from tests.conftest import TOY, write_splits

TIMES = 20
SMALL = "--model distmult --epochs 1 --quiet"
# Command lines in a folder with the data set "toy", its run "run", a damaged run "damaged", the
# run "foreign" of other triples, a text "text" and a space "space.toml".
USAGE = [
    "nonsense",
    *(f"{name} --nonsense" for name in COMMANDS),
    "--debug",
]
ERRORS = {
    2: [
        *USAGE,
        "demo --out text",
        "data info nonexistent",
        "data info text.parquet",
        "data info text.nt",
        "data info toy --shares 1,2,3",
        "data fetch nonexistent",
        "data convert toy toy",
        "data convert nonexistent x",
        "degrees nonexistent",
        "train",
        "train toy",
        "train nonexistent --out new",
        f"train toy --out run {SMALL}",
        f"train toy --out new {SMALL} --pretrained nonexistent",
        f"train toy --out new {SMALL} --pretrained foreign",
        f"train toy --out new {SMALL} --set nonsense=1",
        f"train toy --out new {SMALL} --recipe nonsense",
        "train --resume --out nonexistent",
        "train --resume --out damaged",
        "evaluate",
        "evaluate nonexistent",
        "evaluate damaged",
        "evaluate run --bins x",
        "evaluate run --false-triples text",
        "evaluate run --write-ranks text",
        "evaluate --ranks text.parquet --data toy",
        "compare run nonexistent",
        "compare run foreign",
        "compare run",
        "report run",
        "report nonexistent --out new.html",
        "report damaged --out new.html",
        "report run damaged --out new.html",
        "report run foreign --out new.html",
        "report run --out text",
        "predict run",
        "predict nonexistent --head a --relation likes",
        "predict damaged --head a --relation likes",
        "predict run --head nobody --relation likes",
        "predict run --queries nonexistent",
        "predict run --queries text",
        "predict run --head a --relation likes --tail nobody",
        "predict run --relation nonsense",
        "predict run --all",
        "detect-errors",
        "detect-errors nonexistent",
        "detect-errors damaged",
        "detect-errors run --folds 1",
        "export nonexistent --out new",
        "export damaged --out new",
        "export run --out text",
        "experiment",
        "experiment nonexistent.toml",
        "experiment text --out new",
        "tune toy --space nonexistent --out new",
        "tune toy --space text --out new",
        "tune toy --space space.toml",
        "tune nonexistent --space space.toml --out new",
    ],
    1: [
        "tune toy --space space.toml --out new --storage nonsense://u:p@h",
        f"train toy --out new {SMALL} --overwrite --set training.lr=1e30 --set model.entity_dim=4",
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("statuses")
    write_splits(path / "toy", TOY)
    write_splits(path / "other", {name: [row[::-1] for row in rows] for name, rows in TOY.items()})
    (path / "space.toml").write_text('[space]\nmodel.decoder = ["distmult"]\n')
    for name in ("text", "text.parquet", "text.nt"):
        (path / name).write_text("no triple")
    for name, data in (("run", "toy"), ("damaged", "toy"), ("foreign", "other")):
        assert status(path, f"train {data} --out {name} {SMALL}") == 0
    (path / "damaged" / "triples.parquet").write_bytes(b"PAR1")
    return path


def status(folder, line):
    command = [sys.executable, "-m", "dglkgmix", *line.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=600).returncode


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("expected", "line"), [(status, line) for status, lines in ERRORS.items() for line in lines]
)
def test_an_error_ends_with_its_status_each_time(folder, expected, line):
    assert Counter(status(folder, line) for _ in range(TIMES)) == {expected: TIMES}
