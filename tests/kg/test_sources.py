import bz2
import gzip
import logging
import os
import re
from pathlib import Path

import pytest

from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.kg import sources
from dglkgmix.kg.options import ReadOptions
from dglkgmix.kg.sources import load
from tests.graphs import same_triples


def test_a_folder(toy_folder, toy):
    kg = load(toy_folder)
    assert kg.entities == toy.entities
    assert same_triples(kg, toy)


def test_a_folder_of_mixed_formats_without_test(tmp_path):
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(b'"a",r,b\n'))
    (tmp_path / "dev.txt").write_bytes(b"a\tr\tc\n")
    (tmp_path / "train2id.txt").write_bytes(b"not of a split")
    (tmp_path / "README").write_bytes(b"nor this")
    kg = load(str(tmp_path))
    assert repr(kg) == "KnowledgeGraph(3 entities, 1 relations, 1 + 1 + 0 triples)"


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({"valid.txt": b""}, "no file for train"),
        ({"train.txt": b"\n"}, r"train\.txt: no triples: the training file is empty"),
        ({"train.txt": b"a\tr\tb", "train.csv": b""}, r"several files for train: train\.csv, tr"),
        ({"train": b"a\tr\tb", "val.txt": b"", "valid.txt": b""}, "several files for valid"),
        ({"train.txt": b"a\tr\tb", "test.txt": b"a\tr"}, r"test\.txt:1: expected 3"),
    ],
)
def test_folders_that_are_no_source(tmp_path, files, what):
    """Case 19: an empty training file is an error that says so."""
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=what):
        load(tmp_path)
    (tmp_path / "all.tsv").touch()
    with pytest.raises(DataError, match=r"all\.tsv: no triples: the file is empty"):
        load(tmp_path / "all.tsv")


def test_a_file_for_train_that_is_not_read_is_named(tmp_path):
    """Case 70: compressed as nothing here is."""
    (tmp_path / "train.txt.7z").touch()
    (tmp_path / "notes.md").touch()
    with pytest.raises(DataError, match=r"no file for train \(.*\); train\.txt\.7z cannot be read"):
        load(tmp_path)
    (tmp_path / "train.txt.bz2").write_bytes(bz2.compress(b"a\tr\tb\n"))
    assert load(tmp_path).train.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("valid.zip", "valid"),
        ("dev.tsv.7z", "valid"),
        ("test.TSV.lz4", "test"),
        ("TEST.tsv", "test"),
    ],
)
def test_a_held_out_file_that_is_not_read_is_named(tmp_path, name, split):
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    (tmp_path / "test_of_mine.md").touch()
    load(tmp_path)
    (tmp_path / name).touch()
    with pytest.raises(DataError, match=rf"no file for {split} .*; {re.escape(name)} cannot be re"):
        load(tmp_path)


def test_a_folder_with_the_name_of_a_split_is_named(tmp_path):
    (tmp_path / "train.tsv").write_text("a\tr\tb\n")
    (tmp_path / "valid.tsv").mkdir()
    with pytest.raises(DataError, match=r"no file for valid .*; valid\.tsv cannot be read"):
        load(tmp_path)
    (tmp_path / "valid.txt").write_text("b\tr\ta\n")
    assert len(load(tmp_path).valid) == 1


def test_one_file_is_split(tmp_path):
    path = tmp_path / "all.tsv"
    path.write_text("".join(f"e{i % 5}\tr{i % 2}\te{i % 7}\n" for i in range(35)))
    kg = load(path)
    # A pair of mirrors makes one split larger by one than its share.
    assert repr(kg) == "KnowledgeGraph(7 entities, 2 relations, 26 + 4 + 5 triples)"
    assert kg.summary()["entities_not_in_train"] == 0
    again = load(path, split=(0.6, 0.2, 0.2), split_seed=5, split_mirrors="apart")
    assert [len(again.split(name)) for name in ("train", "valid", "test")] == [21, 7, 7]


@pytest.mark.parametrize(
    "split", [{"split": (0.6, 0.2, 0.2)}, {"split_seed": 1}, {"split_mirrors": "apart"}]
)
def test_a_folder_is_not_split(toy_folder, split, caplog):
    with caplog.at_level(logging.WARNING, sources.__name__):
        load(toy_folder)
    assert caplog.text == ""
    with pytest.raises(ConfigError, match=r"toy: a folder or .* is not split: .* no effect on it"):
        load(toy_folder, **split)


def test_reading_options_apply(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("o;s;p\nb;a;r\n")
    options = ReadOptions(columns=("s", "p", "o"), header=True, delimiter=";")
    assert load(path, options=options, split=(1, 0, 0)).entities.names == ("a", "b")


@pytest.mark.parametrize("given", [{"header": True}, {"delimiter": ","}])
def test_a_name_of_the_catalog_needs_no_reading_options(given):
    """A header would cost the first triple of every split."""
    with pytest.raises(ConfigError, match="world: a data set of the catalog is read as it is"):
        load("world", options=ReadOptions(**given))


def test_a_path_of_the_same_name(tmp_path, toy_folder, monkeypatch, caplog):
    toy_folder.rename(tmp_path / "world")
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.WARNING, sources.__name__):
        assert load("world").num_entities > 600
    assert "for the path write ./world" in caplog.text
    assert load("./world").num_entities == 5
    assert load(Path("world")).num_entities == 5


def test_neither_path_nor_name(tmp_path):
    with pytest.raises(UnknownNameError, match="no data set of this name; close matches: world "):
        load("wrld")
    with pytest.raises(UnknownNameError, match="gone: no such file or folder"):
        load(tmp_path / "gone")


def test_options_that_a_file_has_no_use_for_are_refused(tmp_path):
    (tmp_path / "x.nt").write_text("<a> <r> <b> .\n")
    options = ReadOptions(columns=("tail", "relation", "head"), header=True)
    with pytest.raises(ConfigError, match=r"x\.nt: --columns, --header has no effect on it"):
        load(tmp_path / "x.nt", options=options)
    (tmp_path / "x.dgl").write_bytes(b"")
    with pytest.raises(ConfigError, match=r"x\.dgl: --strip, --normalize has no effect on it"):
        load(tmp_path / "x.dgl", options=ReadOptions(strip=True, normalize="nfc"))


def test_a_pipe_is_there_but_cannot_be_read_twice(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="pipe: a pipe or device: write its content to a file"):
        load(tmp_path / "pipe")
