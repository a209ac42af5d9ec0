"""Relation prediction against the plain formula, in one block and in several."""

import pytest
import torch

from dglkgmix.config.classes import DECODERS, find
from dglkgmix.errors import ConfigError
from dglkgmix.models.registry import build_decoder
from dglkgmix.training import relations as module
from dglkgmix.training.relations import relation_prediction
from tests.settings import settled_model

P, R, D = 5, 3, 4
OWN = torch.tensor([0, 2, 2, 1, 0])
ABLE = [name for name in DECODERS if find("decoder", name).predicts_relations]
able = pytest.mark.parametrize("name", ABLE)


def inputs(name):
    torch.manual_seed(0)
    decoder = build_decoder(settled_model(name, D, input_dropout=0.0)).double()
    shapes = ((P, D), (P, D), (R, decoder.relation_dim))
    return decoder, [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]


@able
def test_it_is_the_cross_entropy_of_the_relation(name):
    """Each triple with each relation, scored on its own as an evaluation does."""
    decoder, (heads, tails, table) = inputs(name)
    decoder.eval()
    scores = torch.zeros(P, R, dtype=torch.float64)
    for p in range(P):
        for r in range(R):
            query = decoder.query(heads[p : p + 1], table[r : r + 1])
            scores[p, r] = decoder.score(query, tails[p : p + 1, None])[0, 0]
    odds = scores.exp() / scores.exp().sum(1, keepdim=True)
    expected = -odds[range(P), OWN].log().sum()
    torch.testing.assert_close(relation_prediction(decoder, heads, tails, OWN, table), expected)


@able
@pytest.mark.parametrize("block", [2**22, 2 * D * D])
def test_gradients_in_one_block_and_in_several(monkeypatch, name, block):
    monkeypatch.setattr(module, "_BLOCK", block)
    decoder, (heads, tails, table) = inputs(name)

    def loss(*given):
        return relation_prediction(decoder, given[0], given[1], OWN, given[2])

    assert torch.autograd.gradcheck(loss, (heads, tails, table))


def test_no_triples_cost_nothing():
    decoder, (heads, tails, table) = inputs("distmult")
    loss = relation_prediction(decoder, heads[:0], tails[:0], OWN[:0], table)
    loss.backward()
    assert loss.item() == 0


@pytest.mark.parametrize("name", sorted(set(DECODERS) - set(ABLE)))
def test_other_decoders_refuse(name):
    decoder = build_decoder(settled_model(name, 8))
    with pytest.raises(ConfigError, match="no product with all relations"):
        decoder.relation_query(torch.zeros(1, 8), torch.zeros(1, 8))
