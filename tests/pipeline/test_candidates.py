import torch

from dglkgmix._dgl import dgl
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.pipeline.candidates import Candidates
from dglkgmix.pipeline.ids import GraphIds
from tests.pipeline.graphs import TRIPLES, medical

MEDICAL = Candidates(GraphIds(medical()).kg)
# (drug 2, treats, disease 3) is no training triple.
ASKED = torch.tensor([*TRIPLES, [6, 1, 3]])


def test_candidates_by_hand():
    """Of the tail's type, unknown for the query, and not the tail itself."""
    found = [MEDICAL.of(triple).tolist() for triple in ASKED]
    assert found == [
        [8],
        [8],
        [1, 2, 3],
        [1, 2, 3],
        [0, 2, 3],
        [1, 2, 3],
        [0, 1, 3],
        [7],
        [7],
        [0, 2],
    ]
    assert MEDICAL.exist(ASKED).all()


def test_a_head_that_is_linked_to_all():
    graph = dgl.heterograph({("a", "r", "b"): ([0, 0, 1], [0, 1, 0])})
    candidates = Candidates(GraphIds(graph).kg)
    triples = torch.tensor([[0, 0, 2], [0, 0, 3], [1, 0, 2], [1, 0, 3]])
    assert candidates.exist(triples).tolist() == [False, False, True, False]
    assert [candidates.of(triple).tolist() for triple in triples] == [[], [], [3], []]


def test_known_tails_of_another_type_leave_candidates():
    """Relation 0 leads from node 0 to nodes of two types; one more of the first type is there."""
    graph = dgl.graph(([0, 0], [1, 2]), num_nodes=4)
    graph.ndata["ntype"] = torch.tensor([0, 1, 2, 1])
    graph.edata["etype"] = torch.tensor([0, 0])
    candidates = Candidates(GraphIds(graph).kg)
    assert candidates.exist(torch.tensor([[0, 0, 1], [0, 0, 2]])).tolist() == [True, False]
    assert candidates.of(torch.tensor([0, 0, 1])).tolist() == [3]


def test_proposals_are_uniform_over_the_type():
    proposed = MEDICAL.propose(ASKED[2].expand(4000, 3), torch.Generator().manual_seed(0))
    counts = torch.bincount(proposed, minlength=9)
    assert counts[4:].sum() == 0
    assert (counts[:4] - 1000).abs().max() < 4 * 4000**0.5 * (3 / 16) ** 0.5


def test_known_tails_as_the_index_knows_them():
    kg = GraphIds(medical()).kg
    everything = torch.cartesian_prod(torch.arange(9), torch.arange(8), torch.arange(9))
    known = MEDICAL.are_known(MEDICAL.queries(everything), everything[:, 2])
    assert torch.equal(known, kg.train_index.contains(*everything.unbind(1)))
    assert int(known.sum()) == kg.num_edges


def test_without_types_all_entities_are_candidates():
    candidates = Candidates(KnowledgeGraph.from_arrays([[0, 0, 1], [1, 0, 3]]))
    assert candidates.of(torch.tensor([0, 0, 1])).tolist() == [0, 2, 3]
