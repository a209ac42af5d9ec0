"""Every sampler: all of an epoch, no more, and the same again from the same seed."""

import dataclasses
from collections import Counter

import pytest
import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling.negatives import TripleBatches
from dglkgmix.sampling.partners import PartnerSampler
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.sampling.seeds import generator
from tests.graphs import random_graph

GRAPHS = {
    "one triple": lambda: KnowledgeGraph.from_arrays([[0, 0, 1]], entities=2, relations=1),
    "one self-loop": lambda: KnowledgeGraph.from_arrays([[0, 0, 0]], entities=1, relations=1),
    "sparse": lambda: random_graph(40, 6, 60),
    "dense": lambda: random_graph(5, 2, 400),
    "isolated": lambda: KnowledgeGraph.from_arrays([[7, 1, 9]], entities=12, relations=3),
}
BATCHES = {
    "1-n": QueryBatches,
    "1-k": lambda kg, size: TripleBatches(kg, size, 3),
    "1-k unfiltered": lambda kg, size: TripleBatches(kg, size, 3, filtered=False),
}


@pytest.fixture(params=GRAPHS)
def kg(request):
    return GRAPHS[request.param]()


def same(first, second):
    pairs = ((getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(first))
    return all(a is b is None or torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("size", [1, 4, 1000])
class TestBatches:
    def test_every_training_triple_once(self, kg, kind, size):
        """Case 12: what does not fill a batch makes a smaller one."""
        batches = list(BATCHES[kind](kg, size).epoch(generator(0)))
        counts = Counter(int(edge) for batch in batches for edge in batch.edges)
        assert counts == Counter(range(kg.num_edges))
        sizes = [len(batch) for batch in batches]
        assert all(n == size for n in sizes[:-1])
        assert 1 <= sizes[-1] <= size

    def test_ids_are_whole_numbers_of_the_graph(self, kg, kind, size):
        for batch in BATCHES[kind](kg, size).epoch(generator(0)):
            for field in dataclasses.fields(batch):
                values = getattr(batch, field.name)
                if values is not None:
                    assert values.dtype is (torch.bool if field.name == "mask" else torch.long)
            ids = torch.cat([batch.heads, batch.tails])
            assert 0 <= int(ids.min()) <= int(ids.max()) < kg.num_entities
            assert int(batch.relations.max()) < kg.num_query_relations

    def test_the_seed_decides(self, kg, kind, size):
        sampler = BATCHES[kind](kg, size)
        first, again = (list(sampler.epoch(generator(9))) for _ in range(2))
        assert all(same(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("rule", ["any", "strict"])
@pytest.mark.parametrize("threshold", [0, 2, 10**6])
class TestPartners:
    def test_other_triples_with_the_same_tail(self, kg, rule, threshold):
        partners = PartnerSampler(kg, threshold, 3, rule).draw(4)
        first, second = kg.edges[partners.edges], kg.edges[partners.partners]
        assert torch.equal(first[:, 2], second[:, 2])
        assert not (partners.edges == partners.partners).any()
        low = kg.degrees.edge_tail_relation[partners.edges] < threshold
        assert bool(low.all())
        if rule == "strict":
            assert not (first[:, :2] == second[:, :2]).any()

    def test_the_report_is_what_is_drawn(self, kg, rule, threshold):
        sampler = PartnerSampler(kg, threshold, 3, rule)
        partners = sampler.draw(4)
        coverage = sampler.coverage
        assert coverage["synthetic_per_epoch"] == len(partners)
        below = int((kg.degrees.edge_tail_relation < threshold).sum())
        assert coverage["below_threshold"] == below
        with_partner = len(torch.unique(partners.edges))
        assert coverage["without_partner"] == below - with_partner

    def test_the_seed_decides(self, kg, rule, threshold):
        sampler = PartnerSampler(kg, threshold, 3, rule)
        first, again = sampler.draw(4), sampler.draw(4)
        assert same(first, again)
