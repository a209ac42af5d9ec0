"""Relation prediction: the cross-entropy of a triple's relation, given its head and tail.

Chen et al. (2021), "Relation Prediction as an Auxiliary Training Objective for Improving
Multi-Relational Graph Representations".
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from dglkgmix.models.decoder import Decoder

# Numbers of the largest tensor that is held at once.
_BLOCK = 2**22


def relation_prediction(
    decoder: Decoder, heads: Tensor, tails: Tensor, relations: Tensor, table: Tensor
) -> Tensor:
    """Σ over P triples of −log softmax over r′ of score(h, r′, t), at their own relation.

    Where the triples make more than one block, a block's tensors are computed again for its
    gradient and not kept.

    Args:
        decoder: one that predicts relations.
        heads: (P, De) vectors.
        tails: (P, De) vectors.
        relations: (P,) long, rows of ``table``.
        table: (R, Dr) vectors of the relations among which it is predicted.
    """

    def block(head: Tensor, tail: Tensor, relation: Tensor) -> Tensor:
        scores = decoder.relation_query(head, tail) @ table.T
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        return functional.cross_entropy(scores, relation, reduction="sum")

    heads, tails = decoder.relation_inputs(heads, tails)
    size = max(1, _BLOCK // max(decoder.largest, len(table)))
    parts = list(zip(*(torch.split(x, size) for x in (heads, tails, relations)), strict=True))
    if len(parts) == 1:
        return block(*parts[0])
    sums = [checkpoint(block, *part, use_reentrant=False) for part in parts]
    return torch.stack(sums).sum()
