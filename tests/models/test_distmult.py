"""DistMult."""

import torch

from dglkgmix.models.distmult import DistMult


def test_input_dropout_thins_the_head():
    torch.manual_seed(0)
    query = DistMult(100, 100, input_dropout=0.5).query(torch.ones(2, 100), torch.ones(2, 100))
    assert set(query.unique().tolist()) == {0.0, 2.0}
