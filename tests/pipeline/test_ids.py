import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import DataError, OutOfRangeError, UnknownNameError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.pipeline.ids import GraphIds
from tests.pipeline.graphs import (
    CAUSES,
    REVERSE,
    SIZES,
    TREATS,
    TRIPLES,
    medical,
    two_way,
    with_masks,
)


class TestNodes:
    def test_types_follow_one_another(self, ids):
        assert ids.entities("disease", [0, 3]).tolist() == [0, 3]
        assert ids.entities("drug", torch.tensor([2, 0])).tolist() == [6, 4]
        assert ids.entities("gene", []).tolist() == []

    def test_there_and_back(self, ids):
        nodes = ids.nodes(torch.tensor([8, 1, 7, 0]))
        found = {name: ids.tolist() for name, ids in nodes.items()}
        assert found == {"disease": [1, 0], "gene": [1, 0]}
        assert torch.cat([ids.entities(*item) for item in nodes.items()]).tolist() == [1, 0, 8, 7]

    def test_what_is_not_there(self, ids):
        with pytest.raises(UnknownNameError, match="unknown node type 'protein'"):
            ids.entities("protein", [0])
        with pytest.raises(OutOfRangeError, match="node of type 'gene' with id 2"):
            ids.entities("gene", [2])
        with pytest.raises(OutOfRangeError, match="entity with id 9"):
            ids.nodes([9])
        with pytest.raises(OutOfRangeError, match=r"row of kg\.edges with id -1"):
            ids.edges([0, -1])


class TestEdges:
    def test_triples_of_edges(self, ids):
        assert ids.kg.edges[:9].tolist() == TRIPLES
        triples = ids.triples({"treats": torch.tensor([2, 3]), CAUSES: torch.tensor([1])})
        assert triples.tolist() == [[6, 1, 1], [4, 1, 0], [8, 2, 2]]
        assert ids.triples({}).shape == (0, 3)

    def test_rows_of_edges_share_copies(self, ids):
        assert ids.rows({"treats": torch.tensor([3, 2, 0, 1])}).tolist() == [2, 4, 2, 3]
        rows = ids.rows({"causes": torch.tensor([1]), "targets": torch.tensor([0])})
        assert rows.tolist() == [6, 0]

    def test_reverse_types_become_reciprocals(self):
        ids, plain = GraphIds(two_way(), reverse_etypes=REVERSE), GraphIds(medical())
        assert torch.equal(ids.kg.edges, plain.kg.edges)
        assert ids.relations["disease", "rev_treats", "drug"] == 1 + 4
        assert ids.rows({"rev_treats": torch.tensor([2, 3])}).tolist() == [4 + 9, 2 + 9]
        assert ids.triples({"rev_treats": torch.tensor([2])}).tolist() == [[1, 5, 6]]
        assert (ids.has_reverse_types, plain.has_reverse_types) == (True, False)

    def test_undeclared_reverse_types_are_relations(self):
        assert GraphIds(two_way()).kg.num_relations == 8

    def test_every_node_stays_though_a_type_has_reverse_edges_alone(self):
        edges = {("a", "r", "b"): ([0], [0]), ("b", "v", "a"): ([0], [0])}
        ids = GraphIds(dgl.heterograph(edges, {"a": 3, "b": 2}), reverse_etypes={"r": "v"})
        assert (ids.kg.num_entities, ids.kg.num_relations) == (5, 1)

    def test_held_out_edges_have_triples_but_no_rows(self):
        ids = GraphIds(with_masks())
        assert ids.triples({"treats": torch.tensor([1])}).tolist() == [[5, 1, 0]]
        assert (len(ids.kg.train), len(ids.kg.test)) == (8, 1)
        with pytest.raises(
            DataError, match=r"edge 1 of type \('drug', 'treats', .* no training edge"
        ):
            ids.rows({"treats": torch.tensor([0, 1])})

    def test_splits_as_graphs(self):
        graph = two_way(with_masks())

        def part(mask):
            chosen = {
                t: graph.edges[t].data[mask].nonzero().flatten() for t in graph.canonical_etypes
            }
            return dgl.edge_subgraph(graph, chosen, relabel_nodes=False)

        ids = GraphIds(
            part("train_mask"), part("val_mask"), part("test_mask"), reverse_etypes=REVERSE
        )
        assert ids.kg.test.tolist() == [[5, 1, 0]]
        assert ids.kg.valid.tolist() == [[8, 2, 2]]
        assert len(ids.kg.edges) == 2 * 7

    def test_masks_may_be_ignored(self):
        assert GraphIds(with_masks(), masks={}).kg.edges[:9].tolist() == TRIPLES

    def test_edges_of_rows_are_all_that_say_it(self):
        one, two = GraphIds(medical()), GraphIds(two_way(), reverse_etypes=REVERSE)
        rows = torch.tensor([2, 8 + 9])

        def found(ids):
            return {etype[1]: edges.tolist() for etype, edges in ids.edges(rows).items()}

        edges = {"treats": [0, 3], "interacts": [1]}
        assert found(one) == edges
        assert found(two) == edges | {REVERSE[name]: ids for name, ids in edges.items()}

    def test_edges_of_another_graph(self):
        ids = GraphIds(with_masks())
        other = dgl.heterograph({TREATS: ([2], [3])}, num_nodes_dict=SIZES)
        assert ids.triples({"treats": torch.tensor([0])}, other).tolist() == [[6, 1, 3]]
        strange = dgl.heterograph({("drug", "cures", "disease"): ([2], [3])}, num_nodes_dict=SIZES)
        with pytest.raises(UnknownNameError, match=r"edge type \('drug', 'cures', 'disease'\)"):
            ids.triples({"cures": torch.tensor([0])}, strange)
        with pytest.raises(DataError, match="different nodes"):
            ids.triples({"r": torch.tensor([0])}, dgl.heterograph({("a", "r", "a"): ([0], [0])}))

    def test_narrow_ids(self):
        ids = GraphIds(medical(torch.int32))
        found = ids.edges(torch.tensor([2]))[TREATS]
        assert ids.rows({"treats": torch.tensor([3], dtype=torch.int32)}).tolist() == [2]
        assert (found.dtype, found.tolist()) == (torch.int32, [0, 3])

    def test_the_graph_stays_as_it_was(self):
        graph = with_masks()
        before = {t: set(graph.edges[t].data) for t in graph.canonical_etypes}
        GraphIds(graph).rows({"treats": torch.tensor([0])})
        assert {t: set(graph.edges[t].data) for t in graph.canonical_etypes} == before
        assert graph.ndata == {}


class TestRoundTrip:
    def test_from_a_knowledge_graph_and_back(self):
        kg = KnowledgeGraph.from_arrays([[0, 1, 2], [2, 0, 1], [0, 0, 2]], test=[[1, 1, 2]])
        graph = kg.to_dgl()
        ids = GraphIds(graph)
        assert torch.equal(ids.kg.train, kg.train)
        assert torch.equal(ids.kg.test, kg.test)
        for etype in graph.canonical_etypes:
            train = graph.edges[etype].data["train_mask"].nonzero().flatten()
            rows = graph.edges[etype].data["split_row"][train]
            assert torch.equal(ids.triples({etype: train}), kg.train[rows])
            assert torch.equal(ids.kg.edges[ids.rows({etype: train})], kg.train[rows])

    def test_relations_as_numbers(self):
        graph = dgl.graph(([0, 1, 2], [1, 2, 0]))
        graph.edata["etype"] = torch.tensor([4, 0, 2])
        ids = GraphIds(graph)
        assert ids.triples(torch.tensor([0, 2])).tolist() == [[0, 4, 1], [2, 2, 0]]
        assert ids.rows(torch.tensor([2, 0])).tolist() == [2, 0]
        assert ids.edges(torch.tensor([2])) == {("_N", "_E", "_N"): torch.tensor([2])}

    def test_a_typed_graph_made_homogeneous(self):
        ids = GraphIds(dgl.to_homogeneous(medical()))
        assert ids.kg.edges[:9].tolist() == TRIPLES
        assert ids.kg.node_types.tolist() == [0] * 4 + [1] * 3 + [2] * 2

    def test_numbers_have_no_reverse_types(self):
        graph = dgl.heterograph({("a", "r", "b"): ([0], [0]), ("b", "v", "a"): ([0], [0])})
        graph.edges["r"].data["etype"] = torch.tensor([0])
        with pytest.raises(DataError, match="as edge types, not as numbers"):
            GraphIds(graph, reverse_etypes={"r": "v"})


class TestFeatures:
    def test_stack_and_split(self, ids):
        features = {name: torch.randn(size, 2) for name, size in SIZES.items()}
        stacked = ids.stack(features)
        assert stacked.shape == (9, 2)
        for name, values in ids.split(stacked).items():
            assert torch.equal(values, features[name])
            assert torch.equal(stacked[ids.entities(name, torch.arange(SIZES[name]))], values)

    def test_features_of_other_nodes_are_refused(self):
        with pytest.raises(DataError, match=r"'gene': 3.*but the graph has"):
            GraphIds(medical()).stack({name: torch.ones(3, 2) for name in SIZES})


def test_what_is_no_graph_is_named():
    with pytest.raises(DataError, match=r"^graph must be a DGL graph, not a str: make one with"):
        GraphIds("x")
    with pytest.raises(DataError, match=r"^graph must be a DGL graph, not a NoneType"):
        GraphIds(None)
    with pytest.raises(DataError, match=r"^test must be a DGL graph, not a int"):
        GraphIds(medical(), test=3)
