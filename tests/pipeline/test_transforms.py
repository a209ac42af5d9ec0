import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.pipeline.transforms import TailRelationDegree
from tests.pipeline.graphs import REVERSE, medical, two_way, with_masks

NAME, BIN = "tail_relation_degree", "degree_bin"
# Of the edges of ``medical``: two drugs treat disease 0, the copy counts once; two genes interact
# with gene 1.
DEGREES = {"treats": [2, 2, 1, 2], "targets": [2, 2], "causes": [1, 1], "interacts": [2, 2]}


def written(graph, name):
    return {t[1]: graph.edges[t].data[name].tolist() for t in graph.canonical_etypes}


def test_degrees_by_hand():
    assert written(TailRelationDegree()(medical()), NAME) == DEGREES


def test_bins():
    graph = TailRelationDegree(bins=(2, 3))(medical())
    assert written(graph, BIN)["treats"] == [1, 1, 0, 1]
    assert written(TailRelationDegree()(medical()), BIN)["treats"] == [1, 1, 1, 1]


def test_held_out_edges_get_degrees_but_do_not_count():
    graph = TailRelationDegree()(with_masks())
    assert written(graph, NAME)["treats"] == [1, 1, 1, 1]
    assert written(graph, NAME)["causes"] == [1, 0]
    assert written(graph, BIN)["causes"] == [1, 0]
    assert written(TailRelationDegree(masks={})(with_masks()), NAME)["causes"] == [1, 1]


def test_reciprocals_count_as_the_method_says():
    """Drug 0 treats one disease, gene 0 is targeted by two drugs and targets none."""
    graph = TailRelationDegree("d", "b", reciprocal=True, bins=(2,))(medical())
    ones = {name: [1] * len(degrees) for name, degrees in DEGREES.items()}
    assert written(graph, "d_reciprocal") == ones
    assert written(graph, "d") == DEGREES
    assert written(graph, "b_reciprocal")["treats"] == [0, 0, 0, 0]
    assert set(graph.edges["treats"].data) == {"d", "b", "d_reciprocal", "b_reciprocal"}


def test_reverse_types_show_the_reciprocal_degree():
    declared = TailRelationDegree(reverse_etypes=REVERSE, reciprocal=True)(two_way())
    undeclared = TailRelationDegree()(two_way())
    plain = TailRelationDegree(reciprocal=True)(medical())
    for name, reverse in REVERSE.items():
        back = written(plain, f"{NAME}_reciprocal")[name]
        assert written(declared, NAME)[reverse] == back
        assert written(undeclared, NAME)[reverse] == back
        assert written(declared, f"{NAME}_reciprocal")[reverse] == written(plain, NAME)[name]


def test_the_given_graph_stays_as_it_was():
    graph = medical()
    graph.edges["treats"].data["dose"] = torch.arange(4)
    result = TailRelationDegree()(graph)
    assert set(graph.edges["treats"].data) == {"dose"}
    assert set(result.edges["treats"].data) == {"dose", NAME, BIN}
    assert all(not graph.edges[t].data for t in ("targets", "causes", "interacts"))


def test_it_is_a_transform():
    transform = dgl.transforms.Compose([dgl.transforms.AddSelfLoop(), TailRelationDegree()])
    graph = transform(dgl.graph(([0, 1], [2, 2]), num_nodes=3))
    assert isinstance(TailRelationDegree(), dgl.transforms.BaseTransform)
    assert graph.edata[NAME].tolist() == [3, 3, 1, 1, 3]


def test_an_edge_type_without_edges():
    edges = {("a", "r", "a"): ([0], [1]), ("a", "none", "a"): ([], [])}
    assert written(TailRelationDegree()(dgl.heterograph(edges)), NAME) == {"none": [], "r": [1]}


def test_degrees_agree_with_dgl():
    torch.manual_seed(0)
    pairs = torch.randperm(20 * 15)[:90]
    edges = {("a", "r", "b"): (pairs[:50] // 15, pairs[:50] % 15)}
    edges["b", "s", "b"] = (pairs[50:] % 15, pairs[50:] // 20)
    graph = dgl.to_simple(dgl.heterograph(edges, num_nodes_dict={"a": 20, "b": 15}))
    result = TailRelationDegree()(graph)
    for etype in graph.canonical_etypes:
        tails = graph.edges(etype=etype)[1]
        assert torch.equal(result.edges[etype].data[NAME], graph.in_degrees(tails, etype=etype))


def test_what_is_refused():
    with pytest.raises(ConfigError, match="ascending"):
        TailRelationDegree(bins=(3, 2))
    with pytest.raises(DataError, match="no triples"):
        TailRelationDegree()(dgl.heterograph({("a", "r", "a"): ([], [])}))
