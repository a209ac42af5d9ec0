"""Typed graphs small enough to count by hand."""

import torch

from dglkgmix._dgl import dgl

SIZES = {"drug": 3, "gene": 2, "disease": 4}
TREATS = ("drug", "treats", "disease")
TARGETS = ("drug", "targets", "gene")
CAUSES = ("gene", "causes", "disease")
INTERACTS = ("gene", "interacts", "gene")
REVERSE = {"treats": "rev_treats", "targets": "rev_targets", "causes": "rev_causes"}
REVERSE["interacts"] = "rev_interacts"


def medical(idtype=torch.int64):
    """Ten edges of four types; the last of "treats" is a copy of its first.

    DGL sorts types: diseases are entities 0 to 3, drugs 4 to 6, genes 7 and 8; relations are
    targets 0, treats 1, causes 2, interacts 3.
    """
    edges = {
        TREATS: ([0, 1, 2, 0], [0, 0, 1, 0]),
        TARGETS: ([0, 1], [0, 0]),
        CAUSES: ([0, 1], [0, 2]),
        INTERACTS: ([0, 1], [1, 1]),
    }
    return dgl.heterograph(edges, num_nodes_dict=SIZES, idtype=idtype)


# The distinct triples, which are rows 0 to 8 of ``kg.edges``.
TRIPLES = [
    *([4, 0, 7], [5, 0, 7]),  # targets
    *([4, 1, 0], [5, 1, 0], [6, 1, 1]),  # treats
    *([7, 2, 0], [8, 2, 2]),  # causes
    *([7, 3, 8], [8, 3, 8]),  # interacts
]


def two_way(graph=None):
    """The same with a reverse type for each edge type."""
    graph = medical() if graph is None else graph
    return dgl.AddReverse(copy_edata=True, sym_new_etype=True)(graph)


def with_masks():
    """The same with held-out edges: the second of "treats" is for test, the last of "causes" for
    validation."""
    graph = medical()
    for etype in graph.canonical_etypes:
        count = graph.num_edges(etype)
        test = torch.tensor([etype == TREATS and i == 1 for i in range(count)])
        valid = torch.tensor([etype == CAUSES and i == 1 for i in range(count)])
        graph.edges[etype].data["val_mask"] = valid
        graph.edges[etype].data["test_mask"] = test
        graph.edges[etype].data["train_mask"] = ~(test | valid)
    return graph


def every_edge(graph):
    return {t: torch.arange(graph.num_edges(t)) for t in graph.canonical_etypes}
