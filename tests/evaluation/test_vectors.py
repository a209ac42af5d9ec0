from __future__ import annotations

import csv
import json
from urllib.parse import unquote

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from dglkgmix.errors import ConfigError, DataError, NumericError
from dglkgmix.evaluation.vectors import FORMATS, export_vectors
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.stand_ins import model


def test_parquet_holds_names_beside_vectors(toy, tmp_path):
    built = model(toy)
    export_vectors(built, toy, tmp_path / "new" / "folder")
    entities = pq.read_table(tmp_path / "new" / "folder" / "entities.parquet").to_pylist()
    assert [row["name"] for row in entities] == list(toy.entities)
    table = built.encoder.entity_table.detach().numpy()
    assert np.array([row["vector"] for row in entities], np.float32).tolist() == table.tolist()
    assert [row["bias"] for row in entities] == built.bias.tolist()
    relations = pq.read_table(tmp_path / "new" / "folder" / "relations.parquet").to_pylist()
    assert [row["name"] for row in relations] == list(toy.relations) * 2
    assert [row["reciprocal"] for row in relations] == [False] * 3 + [True] * 3


def test_arrays_come_with_names_in_the_same_order(toy, tmp_path):
    built = model(toy, "transe")
    written = export_vectors(built, toy, tmp_path, "npy")
    assert {path.name for path in written} == {
        *("entities.npy", "relations.npy", "entities.json", "relations.json")
    }
    entities = np.load(tmp_path / "entities.npy", allow_pickle=False)
    assert torch.equal(torch.from_numpy(entities), built.encoder.entity_table.detach())
    assert np.load(tmp_path / "relations.npy").shape == (6, 8)
    assert json.loads((tmp_path / "entities.json").read_text()) == list(toy.entities)


def test_an_encoder_s_vectors_are_those_that_the_decoder_reads(toy, tmp_path):
    built = model(toy, encoder="rgcn", bases=2).train()
    export_vectors(built, toy, tmp_path, "npy")
    assert built.training
    with torch.no_grad():
        expected = built.eval().encode().entities
    assert np.load(tmp_path / "entities.npy") == pytest.approx(expected.numpy(), abs=1e-6)
    assert not torch.allclose(expected, built.encoder.entity_table)
    assert (tmp_path / "bias.npy").exists()


WILD = ["=a b", "50% c", "d\u2028", "'", '"e", f']


@pytest.fixture
def wild():
    """Names that the formats must keep, and a model with a bias."""
    kg = KnowledgeGraph.from_names([(WILD[i], "r s", WILD[i + 1]) for i in range(4)] * 2)
    built = model(kg)
    with torch.no_grad():
        built.encoder.entity_table[0, :3] = torch.tensor([1e-9, -(1 / 3), 123456.789])
    return kg, built


def test_csv_holds_the_columns_of_parquet(wild, tmp_path):
    kg, built = wild
    export_vectors(built, kg, tmp_path, "csv")
    with (tmp_path / "entities.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["name", "bias", *(f"v{i}" for i in range(8))]
    assert [row[0] for row in rows] == ["'=a b", *WILD[1:]]  # as predict writes formulas
    numbers = np.array([row[1:] for row in rows], np.float32)
    assert numbers[:, 0].tolist() == built.bias.tolist()
    assert numbers[:, 1:].tolist() == built.encoder.entity_table.tolist()
    with (tmp_path / "relations.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert [row[:2] for row in rows] == [
        ["name", "reciprocal"],
        ["r s", "False"],
        ["r s", "True"],
    ]


def test_word2vec_text_is_read_as_gensim_reads_it(wild, tmp_path):
    kg, built = wild
    paths = export_vectors(built, kg, tmp_path, "word2vec")
    tables = [built.encoder.entity_table, *built.encoder.relation_table.split(1)]
    names = [WILD, ["r s"], ["r s"]]
    assert [path.name for path in paths] == ["entities.txt", "relations.txt", "reciprocals.txt"]
    for path, table, own in zip(paths, tables, names, strict=True):
        # KeyedVectors: a line of counts, then fields apart by one space, lines by a line feed.
        head, *lines = path.read_bytes().decode().removesuffix("\n").split("\n")
        assert head == f"{len(own)} 8"
        fields = [line.rstrip().split(" ") for line in lines]
        assert [unquote(row[0]) for row in fields] == own
        assert np.array([row[1:] for row in fields], np.float32).tolist() == table.tolist()
    assert "=a%20b" in paths[0].read_text(encoding="utf-8")


def test_the_projector_gets_vectors_and_metadata_with_degrees(wild, tmp_path):
    kg, built = wild
    export_vectors(built, kg, tmp_path, "projector")
    vectors = [row.split("\t") for row in lines_of(tmp_path / "entities_vectors.tsv")]
    assert np.array(vectors, np.float32).tolist() == built.encoder.entity_table.tolist()
    assert [row.split("\t") for row in lines_of(tmp_path / "entities_metadata.tsv")] == [
        ["name", "degree", "bin"],
        *([name, degree, "low"] for name, degree in zip(WILD, "12221", strict=True)),
    ]
    assert [row.split("\t") for row in lines_of(tmp_path / "relations_metadata.tsv")] == [
        ["name", "reciprocal", "degree", "bin"],
        ["r s", "False", "4", "low"],
        ["r s", "True", "4", "low"],
    ]
    assert len(lines_of(tmp_path / "relations_vectors.tsv")) == 2
    tabbed = KnowledgeGraph.from_names([("a\tb", "r", "c")] * 2)
    with pytest.raises(DataError, match=r"'a\\tb' holds a tab, .*: export to Parquet"):
        export_vectors(model(tabbed), tabbed, tmp_path / "new", "projector")
    assert not (tmp_path / "new").exists()


def lines_of(path):
    return path.read_bytes().decode().removesuffix("\n").split("\n")


def test_nothing_is_replaced_unasked(toy, tmp_path):
    (tmp_path / "entities.parquet").write_text("mine")
    with pytest.raises(ConfigError, match=r"entities\.parquet: exists"):
        export_vectors(model(toy), toy, tmp_path)
    export_vectors(model(toy), toy, tmp_path, overwrite=True)
    assert pq.read_table(tmp_path / "entities.parquet").num_rows == 5


def test_formats_and_folders_that_cannot_be(toy, tmp_path):
    with pytest.raises(ConfigError, match="'pickle'"):
        export_vectors(model(toy), toy, tmp_path, "pickle")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file is a file, where a folder belongs"):
        export_vectors(model(toy), toy, tmp_path / "file" / "inner")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("table", "row", "name"), [("entity", 1, "entity"), ("relation", 4, "relation")]
)
def test_numbers_that_are_not_finite_are_no_vectors(toy, tmp_path, form, table, row, name):
    """Row 4 of three relations is the reciprocal of the second."""
    built = model(toy)
    with torch.no_grad():
        getattr(built.encoder, f"{table}_table")[row, 0] = float("nan")
    of = toy.entities[1] if table == "entity" else toy.relations[1]
    with pytest.raises(NumericError, match=f"^the vector of {name} '{of}' is not finite, one of 1"):
        export_vectors(built, toy, tmp_path / "out", form)
    assert not (tmp_path / "out").exists()
