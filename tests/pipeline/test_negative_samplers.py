from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.pipeline import negative_samplers
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.pipeline.negative_samplers import (
    FilteredNegativeSampler,
    LowDegreeNegativeSampler,
    NegativeTails,
)
from tests.pipeline.graphs import (
    CAUSES,
    REVERSE,
    SIZES,
    TREATS,
    TRIPLES,
    every_edge,
    medical,
    two_way,
)

SAMPLERS = pytest.mark.parametrize("kind", [FilteredNegativeSampler, LowDegreeNegativeSampler])
MANY = 4000


def shares(sampler, etype, edge):
    """How often each node is drawn for one edge."""
    pairs = sampler(sampler.ids.graph, {etype: torch.tensor([edge])})
    (_, drawn), *_ = pairs.values()
    return (torch.bincount(drawn, minlength=4) / len(drawn)).tolist()


def deviates(share, expected):
    return abs(share - expected) > 4 * (expected * (1 - expected) / MANY) ** 0.5


@SAMPLERS
def test_shaped_as_dgls_own(kind):
    graph = medical()
    eids = {"treats": torch.tensor([2, 0]), CAUSES: torch.tensor([1])}
    mine = kind(GraphIds(graph), 3)(graph, eids)
    theirs = dgl.dataloading.negative_sampler.PerSourceUniform(3)(graph, eids)
    assert set(mine) == set(theirs) == {TREATS, CAUSES}
    for etype, (sources, tails) in mine.items():
        assert torch.equal(sources, theirs[etype][0])
        assert (tails.shape, tails.dtype) == (theirs[etype][1].shape, theirs[etype][1].dtype)


@SAMPLERS
@pytest.mark.parametrize("rounds", [0, 10])
def test_never_a_known_triple_and_always_of_the_type(kind, rounds, monkeypatch):
    """The second way to draw, from lists, is the first where there are no rounds."""
    monkeypatch.setattr(kind, "rounds", rounds)
    graph = two_way()
    ids = GraphIds(graph, reverse_etypes=REVERSE)
    for etype, (sources, tails) in kind(ids, 50)(graph, every_edge(graph)).items():
        assert (tails < SIZES[etype[2]]).all()
        assert not graph.has_edges_between(sources, tails, etype=etype).any()
        # Gene 1 read backwards interacts with both genes.
        assert len(tails) == (0 if etype[1] == "rev_interacts" else 50 * graph.num_edges(etype))


@pytest.mark.parametrize("rounds", [0, 10])
def test_uniform_over_candidates(rounds, monkeypatch):
    monkeypatch.setattr(FilteredNegativeSampler, "rounds", rounds)
    found = shares(FilteredNegativeSampler(GraphIds(medical()), MANY), "treats", 0)
    assert found[0] == 0
    assert not any(deviates(share, 1 / 3) for share in found[1:])


@pytest.mark.parametrize("rounds", [0, 1, 10])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_low_degrees_are_favoured_as_stated(power, rounds, monkeypatch):
    """Drug 2 treats disease 1; diseases 0, 2 and 3 are treated by 2, 0 and 0 drugs."""
    monkeypatch.setattr(LowDegreeNegativeSampler, "rounds", rounds)
    sampler = LowDegreeNegativeSampler(GraphIds(medical()), MANY, power=power)
    weights = [3.0**-power, 0.0, 1.0, 1.0]
    found = shares(sampler, "treats", 2)
    assert found[1] == 0
    assert not any(deviates(s, w / sum(weights)) for s, w in zip(found, weights, strict=True))


def test_a_huge_power_draws_the_lowest_degree():
    """Degrees 2, 1 and 2 of the candidates; (1 + 1)^-2000 is 0 in floating point."""
    graph = dgl.heterograph({("a", "r", "b"): ([0, 1, 0, 1, 2, 3], [0, 0, 1, 2, 2, 3])})
    found = shares(LowDegreeNegativeSampler(GraphIds(graph), 50, power=2000.0), "r", 5)
    assert found == [0, 1, 0, 0]


def test_a_head_linked_to_all_nodes_gives_no_pair():
    graph = dgl.heterograph({("a", "r", "b"): ([0, 0, 1], [0, 1, 0])})
    sampler = FilteredNegativeSampler(GraphIds(graph), 2)
    ((sources, tails),) = sampler(graph, {"r": torch.tensor([1, 2])}).values()
    negatives, mask = sampler.draw(torch.tensor([[0, 0, 3], [1, 0, 2]]))
    assert (sources.tolist(), tails.tolist()) == ([1, 1], [1, 1])
    assert negatives.tolist() == [[3, 3], [3, 3]]
    assert mask.tolist() == [[False, False], [True, True]]


def test_edges_of_another_graph_over_the_nodes():
    """A validation edge: filtered against training edges, and its own tail is no negative."""
    held_out = dgl.heterograph({TREATS: ([0], [2])}, num_nodes_dict=SIZES)
    sampler = FilteredNegativeSampler(GraphIds(medical()), 100)
    ((sources, tails),) = sampler(held_out, {"treats": torch.tensor([0])}).values()
    assert set(sources.tolist()) == {0}
    assert set(tails.tolist()) == {1, 3}


def test_relations_as_numbers_and_node_types_as_numbers():
    graph = dgl.to_homogeneous(medical())
    ids = GraphIds(graph)
    _, tails = FilteredNegativeSampler(ids, 200)(graph, torch.tensor([2]))  # drug 0, treats
    assert ids.triples(torch.tensor([2])).tolist() == [[4, 1, 0]]
    assert set(tails.tolist()) == {1, 2, 3}


def test_narrow_ids():
    graph = medical(torch.int32)
    sampler = FilteredNegativeSampler(GraphIds(graph), 2)
    ((sources, tails),) = sampler(graph, {"treats": torch.tensor([1], dtype=torch.int32)}).values()
    assert sources.dtype == tails.dtype == torch.int32


def test_seeds():
    ids = GraphIds(medical())

    def draws(seed):
        sampler = FilteredNegativeSampler(ids, 20, seed=seed)
        return [sampler.draw(ids.kg.edges)[0].tolist() for _ in range(2)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert draws(1)[0] != draws(1)[1]


def test_each_worker_draws_differently_and_anew_each_epoch(monkeypatch):
    """A worker starts as a copy of the sampler; its seed is PyTorch's, another one each epoch."""
    sampler = FilteredNegativeSampler(GraphIds(medical()), 20)

    def draw(worker_seed):
        info = None if worker_seed is None else SimpleNamespace(seed=worker_seed)
        monkeypatch.setattr(negative_samplers, "get_worker_info", lambda: info)
        return sampler.draw(sampler.ids.kg.edges)[0]

    draws = [draw(None), draw(7), draw(8)]
    assert torch.equal(draw(7), draws[1])
    assert not any(torch.equal(draws[i], draws[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_errors_by_name():
    graph = medical()
    sampler = FilteredNegativeSampler(GraphIds(graph), 2)
    with pytest.raises(DataError, match="different nodes"):
        sampler(dgl.graph(([0], [1])), torch.tensor([0]))
    assert FilteredNegativeSampler(sampler.ids, np.int64(2)).k == 2
    for wrong in (0, 2.5, True):
        with pytest.raises(ConfigError, match=f"k must be a whole number from 1, not {wrong}"):
            FilteredNegativeSampler(sampler.ids, wrong)
    with pytest.raises(ConfigError, match="power is -1"):
        LowDegreeNegativeSampler(sampler.ids, 1, power=-1)
    with pytest.raises(ConfigError, match="power is nan"):
        LowDegreeNegativeSampler(sampler.ids, 1, power=float("nan"))


MEDICAL = NegativeTails(GraphIds(medical()).kg)
# (drug 2, treats, disease 3) is no training triple.
ASKED = torch.tensor([*TRIPLES, [6, 1, 3]])


def test_candidates_by_hand():
    """Of the tail's type, unknown for the query, and not the tail itself."""
    assert [MEDICAL.of(triple).tolist() for triple in ASKED] == [
        *([8], [8]),  # targets
        *([1, 2, 3], [1, 2, 3], [0, 2, 3]),  # treats
        *([1, 2, 3], [0, 1, 3]),  # causes
        *([7], [7]),  # interacts
        [0, 2],
    ]
    assert MEDICAL.exist(ASKED).all()


def test_known_tails_of_another_type_leave_candidates():
    """Relation 0 leads from node 0 to nodes of two types; one more of the first type is there."""
    graph = dgl.graph(([0, 0], [1, 2]), num_nodes=4)
    graph.ndata["ntype"] = torch.tensor([0, 1, 2, 1])
    graph.edata["etype"] = torch.tensor([0, 0])
    candidates = NegativeTails(GraphIds(graph).kg)
    assert candidates.exist(torch.tensor([[0, 0, 1], [0, 0, 2]])).tolist() == [True, False]
    assert candidates.of(torch.tensor([0, 0, 1])).tolist() == [3]


def test_known_tails_as_the_index_knows_them():
    kg = GraphIds(medical()).kg
    everything = torch.cartesian_prod(torch.arange(9), torch.arange(8), torch.arange(9))
    known = MEDICAL.are_known(MEDICAL.queries(everything), everything[:, 2])
    assert torch.equal(known, kg.train_index.contains(*everything.unbind(1)))
    assert int(known.sum()) == kg.num_edges


def test_without_types_all_entities_are_candidates():
    candidates = NegativeTails(KnowledgeGraph.from_arrays([[0, 0, 1], [1, 0, 3]]))
    assert candidates.of(torch.tensor([0, 0, 1])).tolist() == [0, 2, 3]
