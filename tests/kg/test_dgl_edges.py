from __future__ import annotations

import torch

from dglkgmix._dgl import dgl
from dglkgmix.kg.dgl_edges import Nodes, edge_types_of, is_numbered, read_splits


def test_nodes_of_a_type_follow_each_other() -> None:
    graph = dgl.heterograph(
        {("b", "x", "a"): (torch.tensor([0]), torch.tensor([1]))}, {"b": 2, "a": 3}
    )
    nodes = Nodes(graph)
    assert nodes.total == 5
    assert nodes.offsets == {"a": 0, "b": 3}
    assert nodes.entity_names(None) == ["a:0", "a:1", "a:2", "b:0", "b:1"]
    types = edge_types_of([graph])
    assert not is_numbered([graph], types)
    assert read_splits((graph, None, None), None, nodes, types)[0].tolist() == [[3, 0, 1]]


def test_numbers_on_edges_are_relations() -> None:
    graph = dgl.graph((torch.tensor([0, 1]), torch.tensor([1, 1])))
    graph.edata["etype"] = torch.tensor([4, 0], dtype=torch.int32)
    assert is_numbered([graph], edge_types_of([graph]))
    parts = read_splits((graph, None, None), None, Nodes(graph), None)
    assert [part.tolist() for part in parts] == [[[0, 4, 1], [1, 0, 1]], [], []]
