"""One R-GCN layer against the sum over edges."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.neighbourhood import Neighbourhood
from dglkgmix.models.rgcn_layer import BasisMatrices, BlockMatrices, RGCNLayer
from tests.graphs import random_rows
from tests.kernels.dense import assert_same

KG = KnowledgeGraph.from_arrays(random_rows(12, 3, 60), entities=13, relations=3)


def dense(matrices):
    """(2R, D, D)."""
    return torch.stack([torch.block_diag(*blocks) for blocks in matrices().detach()])


def edge_by_edge(layer, features, edges):
    """The formula of the docstring, one edge after another."""
    weights = [torch.block_diag(*blocks) for blocks in layer.matrices()]
    total = features @ layer.self_loop.weight.T + layer.self_loop.bias
    for head, relation, tail in edges:
        degree = sum(other[1:] == [relation, tail] for other in edges)
        message = features[head] @ weights[relation] / degree
        total = total.index_add(0, torch.tensor([tail]), message.unsqueeze(0))
    return total


@pytest.mark.parametrize("kind", [BasisMatrices, BlockMatrices])
@pytest.mark.parametrize("hidden", [None, [0, 1, 5, 60, 61, 65]])
def test_layer_is_the_sum_over_edges(kind, hidden):
    torch.manual_seed(0)
    layer = RGCNLayer(kind(6, 4, 2), 4).double()
    features = torch.randn(13, 4, dtype=torch.float64)
    edges = None if hidden is None else torch.tensor(hidden)
    ours, _ = layer(features, features[:0], Neighbourhood.full(KG), edges)
    visible = [row for e, row in enumerate(KG.edges.tolist()) if e not in (hidden or ())]
    torch.testing.assert_close(ours, edge_by_edge(layer, features, visible))


@pytest.mark.parametrize("kind", [BasisMatrices, BlockMatrices])
def test_many_relations_of_few_edges(kind):
    """40 relations of 3 edges: neither more targets than matrices nor long runs."""
    torch.manual_seed(0)
    heads, tails = torch.randint(13, (2, 120))
    relations = torch.arange(40).repeat_interleave(3)
    hood = Neighbourhood.build((heads, tails), relations, 40, 13, 13)
    layer = RGCNLayer(kind(40, 4, 2), 4).double()
    features = torch.randn(13, 4, dtype=torch.float64, requires_grad=True)
    inputs = (features, *layer.parameters())
    ours, _ = layer(features, features[:0], hood, None)
    edges = torch.stack([heads, relations, tails], 1).tolist()
    expected = edge_by_edge(layer, features, edges)
    torch.testing.assert_close(ours, expected)
    weight = torch.randn(13, 4, dtype=torch.float64)
    assert_same((ours * weight).sum(), (expected * weight).sum(), inputs)


def test_bases_are_mixed():
    matrices = BasisMatrices(2, 2, 3)
    with torch.no_grad():
        matrices.bases.copy_(torch.arange(12.0).view(3, 2, 2))
        matrices.coefficients.copy_(torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 10.0]]))
    assert matrices().tolist() == [[[[0.0, 1.0], [2.0, 3.0]]], [[[84.0, 95.0], [106.0, 117.0]]]]


@pytest.mark.parametrize("kind", [BasisMatrices, BlockMatrices])
def test_matrices_start_by_keeping_lengths(kind):
    torch.manual_seed(0)
    matrices = kind(40, 32, 8)
    matrices.reset_parameters()
    moved = torch.randn(40, 1, 32) @ dense(matrices)
    assert float(moved.square().mean()) == pytest.approx(1.0, abs=0.3)


def test_blocks_must_divide_the_dimension():
    with pytest.raises(ConfigError, match=r"bases is 30: .*entity_dim 20; what fits is 1, 2, 4, 5"):
        BlockMatrices(2, 20, 30)
