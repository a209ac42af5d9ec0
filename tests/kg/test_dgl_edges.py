import logging

import numpy as np
import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import DataError
from dglkgmix.kg import SPLITS
from dglkgmix.kg.dgl_edges import heterograph, homogeneous
from dglkgmix.kg.graph import KnowledgeGraph
from tests.graphs import same_triples


def academic():
    """Two authors, three papers; "by" is the name of two edge types."""
    return dgl.heterograph(
        {
            ("author", "writes", "paper"): (torch.tensor([0, 1, 1]), torch.tensor([0, 0, 2])),
            ("paper", "by", "author"): (torch.tensor([2]), torch.tensor([1])),
            ("paper", "by", "paper"): (torch.tensor([1]), torch.tensor([1])),
        },
        num_nodes_dict={"author": 2, "paper": 3},
    )


def test_there_and_back_keeps_every_row_in_its_place(toy_rows):
    """Case 21: rows interleaved by relation, duplicates and overlap among them."""
    toy_rows["train"] = [*toy_rows["train"], toy_rows["train"][0]]
    toy_rows["test"] = [*toy_rows["test"], toy_rows["train"][1]]
    kg = KnowledgeGraph.from_names(**toy_rows)
    graph = kg.to_dgl()
    assert graph.num_edges() == 12
    assert graph.canonical_etypes[2] == ("entity", "r2", "entity")
    again = KnowledgeGraph.from_dgl(graph, entities=kg.entities.names, relations=kg.relations.names)
    assert same_triples(kg, again)
    assert again.entities == kg.entities
    assert again.relations == kg.relations


def test_several_node_types_there_and_back():
    kg = KnowledgeGraph.from_dgl(academic())
    assert kg.entities.names == ("author:0", "author:1", "paper:0", "paper:1", "paper:2")
    assert kg.node_type_names == ("author", "paper")
    assert kg.node_types.tolist() == [0, 0, 1, 1, 1]
    # DGL orders edge types by itself.
    names = kg.relations.names
    assert set(names) == {"writes", "paper:by:author", "paper:by:paper"}
    triples = {(kg.entities[h], names[r], kg.entities[t]) for h, r, t in kg.train.tolist()}
    assert triples == {
        ("author:0", "writes", "paper:0"),
        ("author:1", "writes", "paper:0"),
        ("author:1", "writes", "paper:2"),
        ("paper:2", "paper:by:author", "author:1"),
        ("paper:1", "paper:by:paper", "paper:1"),
    }
    graph = kg.to_dgl()
    assert set(graph.canonical_etypes) == set(academic().canonical_etypes)
    assert {name: graph.num_nodes(name) for name in graph.ntypes} == {"author": 2, "paper": 3}
    assert same_triples(kg, KnowledgeGraph.from_dgl(graph))


def test_names_by_node_type():
    names = {"paper": ["P", "Q", "R"], "author": ["A", "B"]}
    kg = KnowledgeGraph.from_dgl(academic(), entities=names, relations=["x", "y", "z"])
    assert kg.entities.names == ("A", "B", "P", "Q", "R")
    assert kg.relations.names == ("x", "y", "z")


@pytest.mark.parametrize(
    ("names", "what"),
    [
        ({"entities": ["A"]}, "1 entity names for 5 nodes"),
        ({"entities": {"author": ["A", "B"]}}, "node types"),
        ({"entities": {"author": ["A"], "paper": ["P", "Q", "R"]}}, "1 names for 2 nodes of type"),
        ({"entities": {"author": ["A", "P"], "paper": ["P", "Q", "R"]}}, "'P' occurs twice"),
        ({"relations": ["x"]}, "1 relation names for 3 edge types"),
    ],
)
def test_names_that_do_not_fit(names, what):
    with pytest.raises(DataError, match=what):
        KnowledgeGraph.from_dgl(academic(), **names)


def test_separate_graphs_for_the_splits():
    def graph(*pairs, etype="likes"):
        heads, tails = map(torch.tensor, zip(*pairs, strict=True))
        return dgl.heterograph({("user", etype, "user"): (heads, tails)}, {"user": 4})

    kg = KnowledgeGraph.from_dgl(graph((0, 1), (1, 2)), graph((2, 3)), graph((3, 0), etype="new"))
    assert kg.relations.names == ("likes", "new")
    assert kg.train.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert kg.valid.tolist() == [[2, 0, 3]]
    assert kg.test.tolist() == [[3, 1, 0]]
    assert kg.node_types is None
    with pytest.raises(DataError, match="graphs of different nodes"):
        KnowledgeGraph.from_dgl(graph((0, 1)), academic())
    with pytest.raises(DataError, match="either masks or graphs"):
        KnowledgeGraph.from_dgl(graph((0, 1)), graph((1, 0)), masks={"train": "x"})


def test_masks_of_ones_own_and_edge_types_without():
    graph = academic()
    graph.edges["writes"].data["held"] = torch.tensor([0, 1, 0])
    kg = KnowledgeGraph.from_dgl(graph, masks={"valid": "held"})
    assert [len(kg.split(name)) for name in SPLITS] == [4, 1, 0]
    names = kg.relations.names
    assert [(kg.entities[h], names[r]) for h, r, _ in kg.valid.tolist()] == [("author:1", "writes")]


def test_edges_in_no_split_are_left_out_and_logged(caplog):
    graph = dgl.graph((torch.arange(4), torch.arange(4)))
    graph.edata["train_mask"] = torch.tensor([True, True, False, False])
    graph.edata["test_mask"] = torch.tensor([False, True, True, False])
    with caplog.at_level(logging.WARNING):
        kg = KnowledgeGraph.from_dgl(graph)
    assert kg.train[:, 0].tolist() == [0, 1]
    assert kg.test[:, 0].tolist() == [1, 2]
    assert "1 of 4 edges are in no split" in caplog.text


@pytest.mark.parametrize(
    ("masks", "what"),
    [
        ({"dev": "m"}, "no split or edge feature 'dev'"),
        ({"train": "gone"}, "no split or edge feature 'gone'.*features m"),
        ({"train": "m"}, "'m' is not a mask"),
    ],
)
def test_masks_that_are_none(masks, what):
    graph = dgl.graph((torch.arange(2), torch.arange(2)))
    graph.edata["m"] = torch.tensor([0.5, 1.0])
    with pytest.raises(DataError, match=what):
        KnowledgeGraph.from_dgl(graph, masks=masks)


@pytest.mark.parametrize("reverse", [False, True])
def test_link_prediction_sets_of_dgl(reverse):
    """What ``dgl.data.FB15k237Dataset`` and its siblings build, made by their own function."""
    from dgl.data.knowledge_graph import build_knowledge_graph

    splits = {
        "train": np.array([[0, 1, 2], [2, 0, 1], [1, 1, 0]]),
        "valid": np.array([[0, 0, 1]]),
        "test": np.array([[2, 1, 2], [1, 0, 2]]),
    }
    graph, data = build_knowledge_graph(4, 2, *splits.values(), reverse=reverse)
    fields = ["etype", "ntype", "train_edge_mask", "valid_edge_mask", "test_edge_mask"]
    fields += ["train_mask", "val_mask", "test_mask"]
    found = dict(zip(fields, data, strict=True))
    graph.ndata["ntype"] = found.pop("ntype")
    graph.edata.update(found)
    kg = KnowledgeGraph.from_dgl(graph)
    assert (kg.num_entities, kg.num_relations) == (4, 2)
    assert kg.node_types is None
    for name, rows in splits.items():
        assert sorted(kg.split(name).tolist()) == sorted(rows.tolist())


def test_homogeneous_graph_with_numbered_types():
    flat = dgl.to_homogeneous(academic())
    kg = KnowledgeGraph.from_dgl(flat)
    assert kg.node_types.tolist() == [0, 0, 1, 1, 1]
    assert kg.relations.names == ("0", "1", "2")
    assert sorted(kg.train.tolist()) == sorted(KnowledgeGraph.from_dgl(academic()).train.tolist())
    assert kg.to_dgl().ndata["ntype"].tolist() == [0, 0, 1, 1, 1]
    plain = dgl.graph(flat.edges(), num_nodes=5)
    with pytest.raises(DataError, match="in some graphs only"):
        KnowledgeGraph.from_dgl(flat, plain)
    flat.edata["_TYPE"] = flat.edata["_TYPE"] + 0.5
    with pytest.raises(DataError, match=r"edata\['_TYPE'\] must be integers"):
        KnowledgeGraph.from_dgl(flat)
    assert KnowledgeGraph.from_dgl(plain).relations.names == ("_E",)


def test_edge_types_of_one_node_type_with_numbered_kinds():
    edges = {("n", "likes", "n"): ([0, 1], [2, 3]), ("n", "knows", "n"): ([3], [0])}
    given = dgl.heterograph(edges)
    given.ndata["ntype"] = torch.tensor([0, 1, 0, 1])
    kg = KnowledgeGraph.from_dgl(given)
    graph = kg.to_dgl()
    assert graph.canonical_etypes == given.canonical_etypes
    assert graph.ndata["ntype"].tolist() == [0, 1, 0, 1]
    again = KnowledgeGraph.from_dgl(graph)
    assert torch.equal(again.train, kg.train)
    assert torch.equal(again.node_types, kg.node_types)


def test_graphs_of_32_bit_ids_are_left_alone():
    graph = academic().int()
    kg = KnowledgeGraph.from_dgl(graph)
    assert kg.train.dtype == torch.int64
    assert graph.idtype == torch.int32
    assert not graph.edges["writes"].data
    with pytest.raises(DataError, match="no triples"):
        KnowledgeGraph.from_dgl(dgl.graph(([], []), num_nodes=3))


# Rows are interleaved by relation on purpose (case 21).
TRIPLES = torch.tensor([[0, 2, 1], [1, 0, 2], [0, 2, 2], [2, 0, 1], [3, 2, 0]])


def test_heterograph_holds_coordinates_alone():
    """Column pointers for each edge type would cost 8 bytes for every entity and relation."""
    assert heterograph(TRIPLES, 5, 4).formats()["created"] == ["coo"]


def test_homogeneous_edges_are_rows():
    graph = homogeneous(TRIPLES, 5)
    heads, tails = graph.edges()
    assert torch.equal(torch.stack([heads, graph.edata["_TYPE"], tails], 1), TRIPLES)
    assert graph.num_nodes() == 5
