"""Models: small ones, and such whose scores a test can write down."""

from __future__ import annotations

import torch

from dglkgmix.models.link_predictor import LinkPredictor
from tests.settings import settled_model


def model(kg, decoder="distmult", **options):
    """Of vectors of eight numbers, with a drawn bias where the decoder takes one."""
    sizes = {"height": 4, "kernel": 2, "filters": 4, "bias": decoder != "transe"}
    built = LinkPredictor.build(settled_model(decoder, 8, **(sizes | options)), kg, seed=1)
    if built.bias is not None:
        torch.nn.init.normal_(built.bias)
    return built


class TableScorer:
    """Scores read from a table (2R, E, E): relation, head, tail."""

    def __init__(self, table):
        self.table = torch.as_tensor(table, dtype=torch.float32)
        self.num_entities = self.table.shape[-1]

    def query(self, heads, relations):
        return self.table[relations, heads]

    def scores(self, query, start, stop):
        return query[:, start:stop]

    def gather(self, query, candidates):
        return query.gather(1, candidates)


class ProductScorer:
    """DistMult: (x_h * x_r) · x_t."""

    def __init__(self, entities, relations):
        self.entities, self.relations = entities, relations
        self.num_entities = len(entities)
        self.widths = []

    def query(self, heads, relations):
        return self.entities[heads] * self.relations[relations]

    def scores(self, query, start, stop):
        self.widths.append(len(query) * (stop - start))
        return query @ self.entities[start:stop].T

    def gather(self, query, candidates):
        return (query[:, None] * self.entities[candidates]).sum(2)
