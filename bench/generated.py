"""Random graphs of any size, with a few entities and relations that are in most triples."""

from __future__ import annotations

import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.vocabulary import Vocabulary


def generated(
    entities: int, relations: int, triples: int, held_out: int = 100, seed: int = 0
) -> KnowledgeGraph:
    """``triples`` for training, and ``held_out`` each for validation and test."""
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(triples + 2 * held_out, 3, generator=generator)
    share[:, [0, 2]] **= 2
    rows = (share * torch.tensor([entities, relations, entities])).long()
    train, valid, test = rows.split([triples, held_out, held_out])
    names = Vocabulary([f"e{i}" for i in range(entities)], "entity")
    return KnowledgeGraph.from_arrays(train, valid, test, entities=names, relations=relations)
