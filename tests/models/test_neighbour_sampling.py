"""Sampled neighbourhoods."""

import torch

from dglkgmix.models.neighbour_sampling import sampled_neighbourhoods
from tests.graphs import random_graph

CPU = torch.device("cpu")


KG = random_graph(20, 3, 150)


def drawn_edges(sources, hood):
    """(head, relation, tail) of every edge of a hood whose targets are the first sources."""
    starts, group = hood.edges.ends(CPU)
    _, targets = hood.groups.ends(CPU)
    relation = torch.repeat_interleave(torch.tensor(hood.sizes))
    rows = torch.stack([sources[starts], relation[group], sources[targets[group]]], 1)
    return {(int(h), int(r), int(t)) for h, r, t in rows}


def test_large_fanout_draws_every_edge_into_the_nodes():
    nodes = torch.tensor([7, 3])
    into = torch.isin(KG.edges[:, 2], nodes)
    sources, [hood] = sampled_neighbourhoods(KG, nodes, fanout=1000, layers=1, seed=1)
    assert sources[:2].tolist() == [7, 3]
    assert hood.num_targets == 2
    assert drawn_edges(sources, hood) == {tuple(row) for row in KG.edges[into].tolist()}


def test_fanout_bounds_the_edges_of_a_node():
    sources, [hood] = sampled_neighbourhoods(KG, torch.arange(20), fanout=3, layers=1, seed=1)
    _, group = hood.edges.ends(CPU)
    into = torch.bincount(hood.groups.ends(CPU)[1][group], minlength=20)
    assert torch.equal(into, KG.degrees.in_degree(torch.arange(20)).clamp(max=3))
    assert drawn_edges(sources, hood) <= {tuple(row) for row in KG.edges.tolist()}


def test_hidden_edges_are_never_drawn():
    hidden = torch.arange(0, KG.num_edges, 2)
    allowed = {tuple(row) for row in KG.edges[1::2].tolist()}
    sources, [hood] = sampled_neighbourhoods(
        KG, torch.arange(20), hidden, fanout=1000, layers=1, seed=1
    )
    assert drawn_edges(sources, hood) == allowed
    assert "visible" not in KG.homogeneous.edata


def test_layers_chain():
    nodes = torch.tensor([5])
    sources, hoods = sampled_neighbourhoods(KG, nodes, fanout=2, layers=2, seed=3)
    assert hoods[1].num_targets == 1
    assert hoods[0].num_targets == hoods[1].edges.num_sources
    assert hoods[0].edges.num_sources == len(sources)
    assert sources[0] == 5


def test_same_seed_same_draw():
    nodes, size = torch.arange(20), {"fanout": 2, "layers": 1}
    hoods = [sampled_neighbourhoods(KG, nodes, **size, seed=seed)[1][0] for seed in (1, 1, 2)]
    groups = [hood.edges.ends(CPU)[0].tolist() for hood in hoods]
    assert groups[0] == groups[1] != groups[2]
