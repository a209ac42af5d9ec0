"""Random triples and graphs that several rooms' tests use."""

import torch

from dglkgmix.kg import SPLITS
from dglkgmix.kg.graph import KnowledgeGraph


def random_rows(entities, relations, count, seed=0):
    """Triples (count, 3); some may be there more than once."""
    chance = torch.Generator().manual_seed(seed)
    sizes = (entities, relations, entities)
    return torch.stack([torch.randint(size, (count,), generator=chance) for size in sizes], 1)


def random_graph(entities, relations, count, seed=0):
    rows = random_rows(entities, relations, count, seed)
    return KnowledgeGraph.from_arrays(rows, entities=entities, relations=relations)


def typed(kg, types, names):
    """The same graph with the type of each entity."""
    splits, types = (kg.train, kg.valid, kg.test), torch.as_tensor(types)
    return KnowledgeGraph(
        kg.entities, kg.relations, *splits, node_types=types, node_type_names=names
    )


def same_triples(first, second):
    """Whether all splits hold the same rows in the same order."""
    return all(torch.equal(first.split(name), second.split(name)) for name in SPLITS)
