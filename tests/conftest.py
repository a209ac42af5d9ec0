"""What several test files use."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def read_toml(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_works():
    """A shell ignores Ctrl-C for what it runs in the background, and so would every child here."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def run_python():
    """Runs code in an interpreter of its own: ``run_python(code, *arguments, NAME=value)``.

    Keywords are environment variables, None removes one.
    """

    def run(code, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
            env={
                name: str(value)
                for name, value in {**os.environ, **environment}.items()
                if value is not None
            },
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture(scope="session")
def shared_data():
    """The folder with FB15k-237, NELL-995, CoDEx-M and CoDEx-S, laid beside the repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the four data sets are not laid beside the repository (../shared/data)")
    return folder


# Six entities, three relations. "c" is the tail of five edges in all, reciprocals included;
# "lone" stands in test alone, relation "only_valid" in valid alone.
TOY = {
    "train": [
        ("a", "likes", "b"),
        ("b", "likes", "c"),
        ("a", "likes", "c"),
        ("d", "knows", "c"),
        ("c", "knows", "c"),
        ("d", "knows", "a"),
    ],
    "valid": [("a", "only_valid", "d"), ("b", "likes", "a")],
    "test": [("d", "likes", "c"), ("lone", "knows", "c")],
}


@pytest.fixture
def toy_rows():
    """A small graph with a self-loop, an entity of test alone and a relation of valid alone."""
    return {split: list(rows) for split, rows in TOY.items()}


@pytest.fixture
def toy(toy_rows):
    """The same as a graph: a 0, b 1, c 2, d 3, lone 4; likes 0, knows 1, only_valid 2."""
    from dglkgmix.kg.graph import KnowledgeGraph

    return KnowledgeGraph.from_names(**toy_rows)


def write_splits(folder, splits):
    """The folder, with a tab-separated file for each split."""
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        lines = "".join("\t".join(row) + "\n" for row in rows)
        (folder / f"{split}.txt").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def toy_folder(tmp_path):
    """The same graph as a folder of tab-separated files."""
    return write_splits(tmp_path / "toy", TOY)
