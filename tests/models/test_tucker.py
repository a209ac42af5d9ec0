"""TuckER against the formula of the paper, relation by relation and all at once."""

import torch
from torch import nn

from dglkgmix.models.tucker import TuckER

ROWS = torch.tensor([1, 0, 1, 1, 2])


def tucker(dropout):
    torch.manual_seed(0)
    options = {"input_dropout": 0.0, "hidden_dropout1": dropout, "hidden_dropout2": 0.0}
    return TuckER(4, 3, **options).double()


def test_query_is_the_papers_in_both_modes():
    decoder = tucker(0.0)
    head, relation = torch.randn(5, 4).double(), torch.randn(3, 3).double()
    for training in (True, False):
        norms = [nn.BatchNorm1d(4).double().train(training) for _ in range(2)]
        norms[0].load_state_dict(decoder.input_norm.state_dict())
        norms[1].load_state_dict(decoder.output_norm.state_dict())
        # W ×₁ x_h ×₂ x_r, the core's first axis being the relation's.
        contracted = torch.einsum("kij,bk,bi->bj", decoder.core, relation[ROWS], norms[0](head))
        query = decoder.train(training).query(head, relation, ROWS)
        torch.testing.assert_close(query, norms[1](contracted))


def test_hidden_dropout_differs_between_queries_of_one_relation():
    decoder = tucker(0.5).eval()
    decoder.matrix_dropout.train()
    head, relation = torch.ones(2, 4).double(), torch.ones(1, 3).double()
    query = decoder.query(head, relation, torch.tensor([0, 0]))
    assert not torch.equal(query[0], query[1])


def test_takes_two_dimensions():
    decoder = TuckER(6, 2)
    assert decoder.core.shape == (2, 6, 6)
    assert decoder.query(torch.randn(3, 6), torch.randn(3, 2)).shape == (3, 6)
    assert float(decoder.core.detach().min()) < -0.9
