from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from dglkgmix.config import ModelConfig
from dglkgmix.errors import ConfigError, NumericError, StorageError
from dglkgmix.evaluation.vectors import export_vectors
from dglkgmix.models.link_predictor import LinkPredictor
from tests.evaluation.test_scorer import model


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
    config = ModelConfig(
        decoder="distmult", encoder="rgcn", entity_dim=8, relation_dim=8, bases=2, bias=True
    )
    built = LinkPredictor.build(config, toy, seed=0).train()
    export_vectors(built, toy, tmp_path, "npy")
    assert built.training
    with torch.no_grad():
        expected = built.eval().encode().entities
    assert np.load(tmp_path / "entities.npy") == pytest.approx(expected.numpy(), abs=1e-6)
    assert not torch.allclose(expected, built.encoder.entity_table)
    assert (tmp_path / "bias.npy").exists()


def test_nothing_is_replaced_unasked(toy, tmp_path):
    (tmp_path / "entities.parquet").write_text("mine")
    with pytest.raises(ConfigError, match=r"entities\.parquet: exists"):
        export_vectors(model(toy), toy, tmp_path)
    export_vectors(model(toy), toy, tmp_path, overwrite=True)
    assert pq.read_table(tmp_path / "entities.parquet").num_rows == 5


def test_formats_and_folders_that_cannot_be(toy, tmp_path):
    with pytest.raises(ConfigError, match="'csv'"):
        export_vectors(model(toy), toy, tmp_path, "csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be made"):
        export_vectors(model(toy), toy, tmp_path / "file" / "inner")


@pytest.mark.parametrize("form", ["parquet", "npy"])
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
