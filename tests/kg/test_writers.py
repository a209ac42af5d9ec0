from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dglkgmix.errors import ConfigError, DataError, StorageError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.sources import load_folder
from dglkgmix.kg.writers import parquet_bytes, target_of, tsv_bytes, write

# All of Unicode but tab and line feed. A carriage return belongs to names, too.
letters = st.characters(codec="utf-8", exclude_characters="\t\n") | st.sampled_from(
    "\r\ufeff \u2028"
)
name = st.text(letters, min_size=1, max_size=6)
rows = st.lists(st.tuples(name, name, name), max_size=5)


def rows_of(kg, split):
    return [
        (kg.entities[h], kg.relations[r], kg.entities[t]) for h, r, t in kg.split(split).tolist()
    ]


@given(st.tuples(name, name, name), rows, rows, rows, st.sampled_from(["tsv", "parquet"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_file_graph_file_gives_the_same_rows(tmp_path, first, train, valid, test, target):
    kg = KnowledgeGraph.from_names([first, *train, first], valid, test)
    folder = tmp_path / target
    folder.mkdir(exist_ok=True)
    for split in SPLITS:
        content = {"tsv": tsv_bytes, "parquet": parquet_bytes}[target](kg, kg.split(split))
        (folder / f"{split}.{target}").write_bytes(content)
    again = load_folder(folder, ReadOptions())
    for split in SPLITS:
        assert rows_of(again, split) == rows_of(kg, split)
    assert torch.equal(again.edges, kg.edges)


def test_tsv_to_the_byte():
    kg = KnowledgeGraph.from_names([("\ufeffa", "r", "b"), ("b", "r\r", "c\r")])
    assert tsv_bytes(kg, kg.train) == "\ufeff\ufeffa\tr\tb\nb\tr\r\tc\r\r\n".encode()
    assert tsv_bytes(kg, kg.valid) == b""


@pytest.mark.parametrize(
    ("row", "what"),
    [(("a\tb", "r", "c"), "entity 'a.tb' holds a tab"), (("a", "r\n", "c"), "a line feed")],
)
def test_names_that_tsv_cannot_hold(row, what):
    kg = KnowledgeGraph.from_names([row])
    with pytest.raises(DataError, match=f"{what}.*convert to Parquet"):
        tsv_bytes(kg, kg.train)


def test_parquet_has_three_columns_of_strings(tmp_path):
    kg = KnowledgeGraph.from_names([("a\n", "r", "b")])
    (tmp_path / "x").write_bytes(parquet_bytes(kg, kg.train))
    assert pq.read_table(tmp_path / "x").to_pydict() == {
        "head": ["a\n"],
        "relation": ["r"],
        "tail": ["b"],
    }


@pytest.mark.parametrize(
    ("path", "target"),
    [("out", "tsv"), ("out.parquet", "parquet"), ("x.DGL", "dgl"), ("x.bin", "dgl")],
)
def test_target_by_ending(path, target):
    assert target_of(Path(path)) == target


def test_a_path_that_asks_for_another_format_is_refused():
    with pytest.raises(ConfigError, match=r"x\.NT: \.NT files are not written"):
        target_of(Path("x.NT"))
    with pytest.raises(ConfigError, match=r"out\.csv: \.csv files are not written: name a folder"):
        target_of(Path("out.csv"))


def test_existing_files_stay_unless_told_otherwise(tmp_path):
    kg = KnowledgeGraph.from_names([("a", "r", "b")])
    (tmp_path / "notes").write_text("mine")
    assert [path.name for path in write(kg, tmp_path, "tsv")] == [f"{s}.tsv" for s in SPLITS]
    with pytest.raises(ConfigError, match=r"train\.tsv: exists.*--overwrite"):
        write(kg, tmp_path, "tsv")
    write(kg, tmp_path, "tsv", overwrite=True)
    # A second file for a split would make the folder ambiguous.
    with pytest.raises(DataError, match=r"train\.tsv holds the same split as train\.parquet would"):
        write(kg, tmp_path, "parquet", overwrite=True)
    assert (tmp_path / "notes").read_text() == "mine"
    (tmp_path / "x.dgl").touch()
    with pytest.raises(ConfigError, match=r"x\.dgl: exists"):
        write(kg, tmp_path / "x.dgl", "dgl")


def test_a_folder_that_cannot_be_made(tmp_path):
    kg = KnowledgeGraph.from_names([("a", "r", "b")])
    blocked = tmp_path / ("long" * 100)
    with pytest.raises(StorageError, match="File name too long"):
        write(kg, blocked / "out", "tsv")


def test_a_file_in_place_of_the_folder_is_wrong_usage(tmp_path):
    kg = KnowledgeGraph.from_names([("a", "r", "b")])
    (tmp_path / "films.tsv").write_text("mine")
    for overwrite, out in product((False, True), ("films.tsv", "films.tsv/out")):
        with pytest.raises(ConfigError, match=r"films\.tsv(:| is) a file, where a folder belongs"):
            write(kg, tmp_path / out, "tsv", overwrite=overwrite)
    assert (tmp_path / "films.tsv").read_text() == "mine"
