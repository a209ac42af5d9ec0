"""Scores against PyKEEN's interactions with the same weights."""

import pytest
import torch
from torch import nn

from dglkgmix.models.complex import ComplEx
from dglkgmix.models.conve import ConvE

pytestmark = [
    pytest.mark.long,  # PyKEEN takes seconds to import
    pytest.mark.filterwarnings("ignore"),  # its imports warn
]


def triples():
    head, relation, tail = torch.randn(3, 4, 200)
    return head, relation, tail


def test_complex():
    from pykeen.nn.modules import ComplExInteraction

    head, relation, tail = triples()
    numbers = [torch.complex(v[:, :100], v[:, 100:]) for v in (head, relation, tail)]
    ours = (ComplEx(200, 200).query(head, relation) * tail).sum(1)
    torch.testing.assert_close(ours, ComplExInteraction()(*numbers), rtol=0, atol=1e-4)


def test_conve():
    from pykeen.nn.modules import ConvEInteraction

    theirs = ConvEInteraction(embedding_dim=200).eval()  # 10 x 20
    parts = {kind: [m for m in theirs.modules() if isinstance(m, kind)] for kind in KINDS}
    for norm in [*parts[nn.BatchNorm2d], *parts[nn.BatchNorm1d]]:
        for tensor in (norm.running_mean, norm.weight.data, norm.bias.data):
            tensor.normal_()
        norm.running_var.uniform_(0.5, 2)
    nn.init.zeros_(parts[nn.Conv2d][0].bias)  # ours has none: batch norm would take it away
    ours = ConvE(200, 200, height=10).eval()
    ours.convolution.filters.weight.data.copy_(parts[nn.Conv2d][0].weight)
    ours.input_norm.load_state_dict(parts[nn.BatchNorm2d][0].state_dict())
    ours.convolution.norm.load_state_dict(parts[nn.BatchNorm2d][1].state_dict())
    ours.projection.load_state_dict(parts[nn.Linear][0].state_dict())
    ours.output_norm.load_state_dict(parts[nn.BatchNorm1d][0].state_dict())
    head, relation, tail = triples()
    scores = (ours.query(head, relation) * tail).sum(1)
    expected = theirs(head, relation, (tail, torch.zeros(4)))
    torch.testing.assert_close(scores, expected.flatten(), rtol=1e-4, atol=1e-4)


KINDS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.Conv2d, nn.Linear)
