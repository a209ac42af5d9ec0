import pytest

from dglkgmix._dgl import dgl
from dglkgmix.errors import DataError
from dglkgmix.kg.dgl_binary import load_binary, save_binary
from dglkgmix.kg.graph import KnowledgeGraph
from tests.graphs import same_triples


@pytest.fixture
def kg():
    return KnowledgeGraph.from_names(
        [("é\t", "r", "\x00"), ("b", "s", "a\n"), ("b", "r", "a\n"), ("b", "s", "a\n")],
        [("x", "only_valid", "b")],
        [("b", "s", "a\n"), ("b", "r", "b")],
    )


def test_there_and_back(kg, tmp_path):
    path = tmp_path / "x.dgl"
    save_binary(kg, path)
    again = load_binary(path)
    assert again.entities == kg.entities
    assert again.relations == kg.relations
    assert same_triples(kg, again)


def test_dgl_reads_the_file_by_itself(kg, tmp_path):
    path = tmp_path / "x.dgl"
    save_binary(kg, path)
    (graph,), labels = dgl.load_graphs(str(path))
    assert graph.num_edges("r1") == 3
    assert graph.edges["r1"].data["train_mask"].tolist() == [True, True, False]
    assert labels["entity_names"].numpy().tobytes().startswith("é\t".encode())


@pytest.mark.parametrize("damage", ["cut", "changed", "foreign", "empty"])
def test_damaged_and_foreign_files(kg, tmp_path, damage):
    path = tmp_path / "x.dgl"
    save_binary(kg, path)
    content = bytearray(path.read_bytes())
    if damage == "changed":
        content[100] ^= 1
    if damage == "foreign":
        dgl.save_graphs(str(path), [kg.to_dgl()])
        content = bytearray(path.read_bytes())
    path.write_bytes({"cut": content[:-5], "empty": b""}.get(damage, content))
    with pytest.raises(DataError, match=r"x\.dgl: (not written by|damaged)"):
        load_binary(path)
    with pytest.raises(DataError, match="cannot be read"):
        load_binary(tmp_path / "gone.dgl")
