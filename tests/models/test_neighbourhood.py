"""Edges grouped by relation and target."""

import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.neighbourhood import Neighbourhood, thinned, with_reciprocals

# (0 r0 2), (1 r0 2), (0 r1 2), and the reciprocals (2 r2 0), (2 r2 1), (2 r3 0).
KG = KnowledgeGraph.from_arrays([(0, 0, 2), (1, 0, 2), (0, 1, 2)], entities=4, relations=2)
FEATURES = torch.tensor([[1.0], [3.0], [10.0], [50.0]])


def test_full_graph_by_hand():
    hood = Neighbourhood.full(KG)
    # Groups: (r0, 2), (r1, 2), (r2, 0), (r2, 1), (r3, 0).
    assert hood.sizes == (1, 1, 2, 1)
    assert hood.degrees.tolist() == [2, 1, 1, 1, 1]
    means, degrees = hood.means(FEATURES)
    assert means.tolist() == [[2.0], [1.0], [10.0], [10.0], [10.0]]
    assert degrees.tolist() == [2, 1, 1, 1, 1]
    assert hood.num_targets == 4
    assert hood.groups.sum(torch.ones(5, 1)).tolist() == [[2.0], [1.0], [2.0], [0.0]]


def test_hidden_edges_leave_mean_and_degree():
    hood = Neighbourhood.full(KG)
    # Edge 1 is (1 r0 2): 0 alone is left in its group. Edge 2 is all of the group (r1, 2).
    means, degrees = hood.means(FEATURES, hidden=torch.tensor([1, 2]))
    assert means.tolist() == [[1.0], [0.0], [10.0], [10.0], [10.0]]
    assert degrees.tolist() == [1, 0, 1, 1, 1]
    assert hood.means(FEATURES)[0].tolist()[0] == [2.0]  # nothing is remembered


def test_hidden_edges_get_no_gradient():
    features = FEATURES.clone().requires_grad_()
    Neighbourhood.full(KG).means(features, hidden=torch.tensor([1]))[0].sum().backward()
    # 0 in (r0, 2) and (r1, 2); 1 hidden; 2 in three reciprocal groups.
    assert features.grad.tolist() == [[2.0], [0.0], [3.0], [0.0]]


def test_with_reciprocals():
    assert with_reciprocals(torch.tensor([4, 1, 1]), 6).tolist() == [1, 4]
    assert with_reciprocals(torch.tensor([0, 5]), 6).tolist() == [0, 2, 3, 5]


def test_thinning_keeps_pairs_together():
    edges = with_reciprocals(torch.arange(2000), 4000)
    torch.manual_seed(1)
    kept = thinned(edges, 0.3)
    assert torch.equal(kept[: len(kept) // 2] + 2000, kept[len(kept) // 2 :])
    assert 540 < len(kept) // 2 < 660  # three standard errors
    assert thinned(edges, 1.0) is edges
