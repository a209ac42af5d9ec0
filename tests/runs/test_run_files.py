import pyarrow as pa
import pytest
import torch

from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.vocabulary import Vocabulary
from dglkgmix.parquet import packed
from dglkgmix.runs import run_files
from dglkgmix.runs.run_files import (
    Spectator,
    read_config,
    read_graph,
    read_new,
    read_sample_weight,
    write_config,
    write_graph,
)
from tests.graphs import typed

from .conftest import settings


def test_a_graph_comes_back_row_by_row_with_its_odd_names(folder):
    entities = Vocabulary(["NA", "null", "New York", "été", "1"], "entity")
    relations = Vocabulary(["type", "/a/b./c"], "relation")
    train = [(0, 0, 1), (0, 0, 1), (2, 1, 3)]
    kg = KnowledgeGraph(entities, relations, train, [(4, 0, 0)], None)
    write_graph(folder, kg)
    again = read_graph(folder)
    assert again.entities == entities
    assert again.relations == relations
    assert again.train.tolist() == [list(row) for row in train]
    assert again.valid.tolist() == [[4, 0, 0]]
    assert len(again.test) == 0
    assert again.node_types is None


def test_node_types_come_back(folder, graph):
    types = torch.arange(20) % 3
    write_graph(folder, typed(graph, types, ("drug", "gene", "disease")))
    again = read_graph(folder)
    assert torch.equal(again.node_types, types)
    assert again.node_type_names == ("drug", "gene", "disease")


def test_settings_come_back(folder):
    config = settings("training.lr=0.1", "data.source='a \"b\" \\\\ c'")
    write_config(folder, config)
    assert read_config(folder) == config


def test_a_table_of_another_kind_is_refused_by_name(folder, graph):
    write_graph(folder, graph)
    folder.write(run_files.TRIPLES, folder.read(run_files.ENTITIES))
    with pytest.raises(CheckpointError, match=r"triples.parquet: column 'head' is missing"):
        read_graph(folder)
    folder.write(run_files.TRIPLES, b"PAR1 but not really PAR1")
    with pytest.raises(CheckpointError, match=r"triples.parquet: not a readable Parquet file"):
        read_graph(folder)


@pytest.mark.parametrize(
    ("heads", "complaint"),
    [
        (["0", "x"], "column 'head': Failed to parse"),
        ([0.0, 0.5], "column 'head': Float value 0.5"),
        ([0, None], "column 'head' has empty cells"),
    ],
)
def test_cells_of_another_kind_are_refused_by_name(folder, graph, heads, complaint):
    rest = {"relation": [0, 0], "tail": [1, 2], "split": ["train", "train"]}
    write_graph(folder, graph)
    folder.write(run_files.TRIPLES, packed(pa.table({"head": heads, **rest})))
    with pytest.raises(CheckpointError, match=rf"triples.parquet: {complaint}"):
        read_graph(folder)


def test_new_entities_come_back_by_name(folder, graph):
    new = torch.arange(20) % 9 == 4
    write_graph(folder, graph, new)
    assert read_new(folder) == {graph.entities[4], graph.entities[13]}
    for none in (None, torch.zeros(20, dtype=torch.bool)):
        write_graph(folder, graph, none)
        assert read_new(folder) == frozenset()
    odd = pa.table({"name": ["a", "b"], "new": ["yes", "perhaps"]})
    folder.write(run_files.ENTITIES, packed(odd))
    with pytest.raises(CheckpointError, match=r"entities.parquet: column 'new': "):
        read_new(folder)


def test_what_triples_weigh_comes_back(folder, graph):
    write_graph(folder, graph)
    assert read_sample_weight(folder) is None
    given = torch.arange(len(graph.train)) / 7
    write_graph(folder, graph, None, given.double())
    assert torch.equal(read_sample_weight(folder), given.double())
    assert torch.equal(read_graph(folder).train, graph.train)


def test_a_spectator_reads_what_another_writes_and_writes_nothing(folder, tmp_path):
    folder.write("a", b"1")
    seen = Spectator.open(tmp_path / "run")
    seen.write("a", b"2")
    seen.write("b", b"3")
    seen.remove("a")
    assert seen.read("a") == folder.read("a") == b"1"
    folder.write("a", b"4")
    assert seen.read("a") == b"4"
    assert folder.names == seen.names == ["a"]


def test_a_spectator_of_a_new_run_sees_nothing_that_lies_in_its_folder(tmp_path):
    with RunFolder.create(tmp_path / "run") as old:
        old.write("a", b"1")
    seen = Spectator.begin(tmp_path / "run")
    assert not seen.has("a")
    seen.write("a", b"2")
    assert RunFolder.open(tmp_path / "run").read("a") == b"1"
    assert not Spectator.begin(tmp_path / "none").has("a")
    assert not (tmp_path / "none").exists()


def test_a_spectator_needs_a_run_to_open(tmp_path):
    with pytest.raises(CheckpointError, match="no such run folder"):
        Spectator.open(tmp_path / "none")


@pytest.mark.parametrize(
    ("table", "option", "before", "settings"),
    [
        ("model", "residual", "none", '[model]\nencoder = "rgcn"\n'),
        ("strategy", "rivals", "all", '[strategy]\nname = "mixup"\n'),
    ],
)
def test_settings_older_than_an_option_have_what_was_trained(
    folder, table, option, before, settings
):
    for text, expected in ((settings, before), (f"{settings}{option} = 3\n", 3)):
        folder.write("config.toml", text.encode())
        assert getattr(getattr(read_config(folder), table), option) == expected
