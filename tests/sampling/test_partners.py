"""Mixing partners."""

from __future__ import annotations

import itertools

import pytest
import torch
from scipy import stats

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.sources import load
from dglkgmix.sampling import partners as module
from dglkgmix.sampling.partners import Partners, PartnerSampler
from tests.graphs import random_graph

# Six in-edges of entity 0: edges 0..5, every relation once.
STAR = [[head, head - 1, 0] for head in range(1, 7)]
# In-edges of 0. Edge 0 is (1, r0): 1, 2 and 3 share its head, 4 its relation; 5 and 6 do not.
CROWDED = [[1, 0, 0], [1, 1, 0], [1, 2, 0], [1, 3, 0], [2, 0, 0], [3, 1, 0], [4, 2, 0]]


@pytest.fixture
def star() -> KnowledgeGraph:
    return KnowledgeGraph.from_arrays(STAR, entities=7, relations=6)


def of(partners: Partners, edge: int) -> list[int]:
    _, samples = partners.of_edges(torch.tensor([edge]))
    return partners.partners[samples].tolist()


def candidates(kg: KnowledgeGraph, edge: int, rule: str) -> set[int]:
    """C by the method's words, one triple after the other."""
    head, relation, tail = kg.edges[edge].tolist()
    return {
        other
        for other, (h, r, t) in enumerate(kg.edges.tolist())
        if t == tail and other != edge and (rule == "any" or (h != head and r != relation))
    }


class TestDistribution:
    @pytest.mark.parametrize(
        ("rows", "edge", "k", "rule", "allowed"),
        [
            (STAR, 2, 2, "any", [0, 1, 3, 4, 5]),
            (STAR, 5, 1, "any", [0, 1, 2, 3, 4]),
            # The tail has 9 in-edges; 5 are excluded for edge 0, itself among them.
            ([*CROWDED, [5, 3, 0], [6, 4, 0]], 0, 2, "strict", [5, 6, 7, 8]),
        ],
    )
    def test_uniform_over_the_candidates(self, rows, edge, k, rule, allowed) -> None:
        """10^5 draws: every set of k candidates is equally likely, and nothing else is drawn."""
        kg = KnowledgeGraph.from_arrays(rows)
        assert sorted(candidates(kg, edge, rule)) == allowed
        sampler, draws = PartnerSampler(kg, 9, k, rule), 100_000
        sampler._augmented = torch.full((draws,), edge)  # one edge, many times over
        excluded = int((kg.edges[:, 2] == kg.edges[edge, 2]).sum()) - len(allowed)
        sampler._excluded = torch.full((draws,), excluded)
        sets = sampler.draw(1).partners.view(draws, k).sort(1).values
        kinds, counts = torch.unique(sets, dim=0, return_counts=True)
        assert kinds.tolist() == [list(kind) for kind in itertools.combinations(allowed, k)]
        assert stats.chisquare(counts.numpy()).pvalue > 0.001

    def test_more_partners_than_any_edge_has(self, star: KnowledgeGraph) -> None:
        every = PartnerSampler(star, 5, star.num_edges).draw(3)
        sampler = PartnerSampler(star, 5, 2**63 - 1)
        assert sampler.draw(3).partners.tolist() == every.partners.tolist()
        assert sampler.coverage["synthetic_per_epoch"] == len(every)


class TestCounts:
    @pytest.mark.parametrize("rule", ["any", "strict"])
    @pytest.mark.parametrize("k", [1, 2, 5, 100])
    @pytest.mark.parametrize("threshold", [0, 1, 3, 1000])
    def test_as_many_as_there_are(self, rule: str, k: int, threshold: int) -> None:
        kg = random_graph(6, 3, 60, seed=k)
        sampler = PartnerSampler(kg, threshold, k, rule)
        partners = sampler.draw(3)
        for edge in range(kg.num_edges):
            allowed = candidates(kg, edge, rule)
            low = int(kg.degrees.edge_tail_relation[edge]) < threshold
            drawn = of(partners, edge)
            assert len(set(drawn)) == len(drawn) == (min(k, len(allowed)) if low else 0)
            assert set(drawn) <= allowed
        assert sampler.coverage["synthetic_per_epoch"] == len(partners)

    def test_strict_reaches_its_few_candidates_among_many(self) -> None:
        """1,000 in-edges from one head and 3 from others: those 3, always."""
        many = [[1, relation, 0] for relation in range(1000)]
        few = [[head, 1000 + head, 0] for head in (2, 3, 4)]
        kg = KnowledgeGraph.from_arrays(many + few, entities=5, relations=1005)
        partners = PartnerSampler(kg, 2, 5, "strict").draw(0)
        assert all(sorted(of(partners, edge)) == [1000, 1001, 1002] for edge in range(0, 1000, 37))

    def test_one_incoming_edge_each_gives_nobody(self) -> None:
        """Case 9."""
        kg = KnowledgeGraph.from_arrays([[0, 0, 1], [2, 0, 3]], entities=4, relations=1)
        sampler = PartnerSampler(kg, 5, 5)
        assert len(sampler.draw(0)) == 0
        assert sampler.coverage == {
            "below_threshold": 4,
            "without_partner": 4,
            "synthetic_per_epoch": 0,
        }

    def test_a_degree_at_the_threshold_is_not_augmented(self) -> None:
        """Case 9: d_tail(0, r0) = 2 and η = 2."""
        kg = KnowledgeGraph.from_arrays([[1, 0, 0], [2, 0, 0]], entities=3, relations=1)
        assert kg.degrees.edge_tail_relation.tolist() == [2, 2, 1, 1]
        assert len(PartnerSampler(kg, 2, 5).draw(0)) == 0
        assert PartnerSampler(kg, 3, 5).draw(0).edges.tolist() == [0, 1]

    @pytest.mark.parametrize(
        ("name", "below", "alone", "synthetic"),
        [
            ("fb15k-237", 193_274, 365, 955_377),
            ("nell-995", 154_094, 42_764, 361_303),
            ("codex-m", 127_213, 0, 636_012),
            ("codex-s", 13_126, 0, 65_630),
        ],
    )
    def test_the_methods_facts(self, shared_data, name, below, alone, synthetic) -> None:
        kg = load(shared_data / name)
        sampler = PartnerSampler(kg, 5, 5)
        assert tuple(sampler.coverage.values()) == (below, alone, synthetic)
        assert len(sampler.draw(0)) == synthetic


class TestRepeatability:
    def test_the_seed_decides(self) -> None:
        sampler = PartnerSampler(random_graph(6, 3, 60), 5, 3)
        first, other, again = (sampler.draw(seed) for seed in (2**62, 6, 2**62))
        assert torch.equal(first.partners, again.partners)
        assert torch.equal(first.edges, again.edges)
        assert not torch.equal(first.partners, other.partners)

    def test_the_number_of_threads_does_not(self) -> None:
        sampler = PartnerSampler(random_graph(50, 4, 3000), 5, 3)
        before = dgl.utils.get_num_threads()
        try:
            drawn = []
            for threads in (1, 2):
                dgl.utils.set_num_threads(threads)
                drawn.append(sampler.draw(1).partners)
                assert dgl.utils.get_num_threads() == threads
        finally:
            dgl.utils.set_num_threads(before)
        assert torch.equal(*drawn)

    def test_blocks_keep_counts_and_candidates(self, monkeypatch) -> None:
        kg = random_graph(6, 3, 60, seed=1)
        whole = PartnerSampler(kg, 9, 3, "strict").draw(0)
        monkeypatch.setattr(module, "_BLOCK", 40)
        blocks = PartnerSampler(kg, 9, 3, "strict").draw(0)
        assert torch.equal(whole.edges, blocks.edges)
        for edge in range(0, kg.num_edges, 5):
            assert set(of(blocks, edge)) <= candidates(kg, edge, "strict")

    def test_pytorchs_generator_is_left_alone(self, star: KnowledgeGraph) -> None:
        before = torch.random.get_rng_state()
        PartnerSampler(star, 5, 2).draw(0)
        assert torch.equal(torch.random.get_rng_state(), before)


class TestPartners:
    def test_samples_of_a_batch(self) -> None:
        partners = Partners(
            edges=torch.tensor([1, 1, 3]),
            partners=torch.tensor([5, 6, 7]),
            indptr=torch.tensor([0, 0, 2, 2, 3]),
        )
        positions, samples = partners.of_edges(torch.tensor([3, 0, 1, 3]))
        assert positions.tolist() == [0, 2, 2, 3]
        assert samples.tolist() == [2, 0, 1, 2]
        assert len(partners) == 3


@pytest.mark.parametrize(
    ("threshold", "k", "rule"), [(-1, 5, "any"), (5, -1, "any"), (5, 5, "some")]
)
def test_senseless_options_are_refused(star, threshold: int, k: int, rule: str) -> None:
    with pytest.raises(ConfigError):
        PartnerSampler(star, threshold, k, rule)


def test_no_partners_are_no_samples(star: KnowledgeGraph) -> None:
    assert len(PartnerSampler(star, 5, 0).draw(0)) == 0
