import torch

from dglkgmix.kg.heterograph import edge_type, heterograph, homogeneous

# Rows are interleaved by relation on purpose (case 21).
TRIPLES = torch.tensor([[0, 2, 1], [1, 0, 2], [0, 2, 2], [2, 0, 1], [3, 2, 0]])


def test_edge_types_come_from_ids_and_keep_the_order_of_rows():
    graph = heterograph(TRIPLES, 5, 4)
    assert graph.canonical_etypes == [edge_type(r) for r in range(4)]
    assert [graph.num_edges(f"r{r}") for r in range(4)] == [2, 0, 3, 0]
    heads, tails = graph.edges(etype="r2")
    assert (heads.tolist(), tails.tolist()) == ([0, 0, 3], [1, 2, 0])
    assert graph.num_nodes() == 5


def test_heterograph_holds_coordinates_alone():
    """Column pointers for each edge type would cost 8 bytes for every entity and relation."""
    assert heterograph(TRIPLES, 5, 4).formats()["created"] == ["coo"]


def test_homogeneous_edges_are_rows():
    graph = homogeneous(TRIPLES, 5)
    heads, tails = graph.edges()
    assert torch.equal(torch.stack([heads, graph.edata["_TYPE"], tails], 1), TRIPLES)
    assert graph.num_nodes() == 5
