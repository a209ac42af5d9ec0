"""CompGCN layers against the sum over edges."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models.compgcn import COMPOSITIONS, CompGCN, CompGCNLayer
from dglkgmix.models.neighbourhood import Neighbourhood
from tests.graphs import random_graph

KG = random_graph(13, 3, 60)
FORMULAS = {
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "correlate": lambda a, b: torch.stack([a @ b.roll(-k) for k in range(len(a))]),
}
compositions = pytest.mark.parametrize("composition", COMPOSITIONS)


def layer_and_inputs(composition):
    torch.manual_seed(0)
    layer = CompGCNLayer(composition, 4).double()
    return layer, *(torch.randn(n, 4, dtype=torch.double) for n in (13, 6))


def edge_by_edge(layer, formula, features, relations, hidden):
    """The formula of the class's docstring, one edge after another."""
    weights = layer.directions.weight.T.split(4)
    visible = [row for e, row in enumerate(KG.edges.tolist()) if e not in hidden]
    own = torch.stack([formula(feature, layer.loop) for feature in features])
    total = own @ layer.self_loop.weight.T + layer.self_loop.bias
    for head, relation, tail in visible:
        reciprocal = relation >= 3
        alike = sum((r >= 3) == reciprocal and t == tail for _, r, t in visible)
        message = formula(features[head], relations[relation]) @ weights[reciprocal] / alike
        total = total.index_add(0, torch.tensor([tail]), message.unsqueeze(0))
    return total, relations @ layer.to_relations.weight.T


@compositions
@pytest.mark.parametrize("hidden", [None, [0, 1, 5, 60, 61, 65]])
def test_layer_is_the_sum_over_edges(composition, hidden):
    layer, features, relations = layer_and_inputs(composition)
    edges = None if hidden is None else torch.tensor(hidden)
    ours = layer(features, relations, Neighbourhood.full(KG), edges)
    gone = set(hidden or ())
    expected = edge_by_edge(layer, FORMULAS[composition], features, relations, gone)
    torch.testing.assert_close(ours, expected)


@compositions
def test_gradients(composition):
    layer, features, relations = layer_and_inputs(composition)
    inputs = (features.requires_grad_(), relations.requires_grad_())
    hood, hidden = Neighbourhood.full(KG), torch.tensor([0, 5, 60, 65])
    assert torch.autograd.gradcheck(lambda *given: layer(*given, hood, hidden), inputs)


def test_relations_of_another_length_are_refused():
    with pytest.raises(ConfigError, match="entities of 4 numbers with relations of 2: set"):
        CompGCN(KG, 4, 2)
