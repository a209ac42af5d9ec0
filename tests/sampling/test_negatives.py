"""1-K batches."""

from __future__ import annotations

import pytest
import torch
from scipy import stats

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling import negatives
from dglkgmix.sampling.negatives import KnownTriples, NegativeSampler, TripleBatches
from dglkgmix.sampling.seeds import generator
from tests.graphs import random_graph

TRAIN = [[0, 0, 1], [0, 0, 2], [0, 0, 3], [1, 0, 1], [4, 0, 0]]


@pytest.fixture
def kg() -> KnowledgeGraph:
    return KnowledgeGraph.from_arrays(TRAIN, entities=5, relations=1)


def rows_of(kg: KnowledgeGraph, head: int, relation: int, count: int) -> torch.Tensor:
    return kg.train_index.locate([head] * count, [relation] * count)


class TestKnownTriples:
    @pytest.mark.parametrize("bits", [(10, 26), (1, 1)], ids=["sparse table", "full table"])
    def test_every_pair_is_told_apart(self, bits, monkeypatch) -> None:
        monkeypatch.setattr(negatives, "_TABLE_BITS", bits)
        index = random_graph(40, 3, 500).train_index
        rows = torch.arange(len(index)).repeat_interleave(40)
        tails = torch.arange(40).repeat(len(index))
        expected = index.contains(index.heads[rows], index.relations[rows], tails)
        assert torch.equal(KnownTriples(index).positions(rows, tails), expected.nonzero().flatten())
        assert 0 < int(expected.sum()) < len(expected)

    def test_the_table_rules_nearly_all_out(self) -> None:
        table = KnownTriples(random_graph(1000, 4, 1000).train_index)._possible
        assert float(table.float().mean()) < 0.13


class TestSampler:
    def test_unfiltered_negatives_are_uniform_over_all_entities(self, kg) -> None:
        sampler = NegativeSampler(kg, 100, filtered=False)
        drawn, mask = sampler.draw(rows_of(kg, 0, 0, 500), generator(0))
        assert drawn.shape == mask.shape == (500, 100)
        assert bool(mask.all())
        counts = torch.bincount(drawn.view(-1), minlength=5)
        assert stats.chisquare(counts.numpy()).pvalue > 0.001

    def test_filtered_negatives_are_uniform_over_the_others(self, kg) -> None:
        """(0, r0, ?) has the tails 1, 2 and 3: 0 and 4 are left."""
        drawn, mask = NegativeSampler(kg, 100).draw(rows_of(kg, 0, 0, 500), generator(0))
        counts = torch.bincount(drawn[mask], minlength=5)
        assert counts[1:4].tolist() == [0, 0, 0]
        assert stats.chisquare(counts[[0, 4]].numpy()).pvalue > 0.001

    def test_what_ten_redraws_leave_is_masked(self, kg) -> None:
        """Each of 11 draws is a training triple with probability 3/5."""
        drawn, mask = NegativeSampler(kg, 100).draw(rows_of(kg, 0, 0, 2000), generator(0))
        known = kg.train_index.contains(0, 0, drawn)
        assert torch.equal(mask, ~known)
        expected = 0.6**11
        spread = (expected * (1 - expected) / mask.numel()) ** 0.5
        assert abs(float(known.double().mean()) - expected) < 4 * spread

    def test_where_every_entity_is_an_answer_all_are_masked(self) -> None:
        kg = KnowledgeGraph.from_arrays([[0, 0, 0], [0, 0, 1]], entities=2, relations=1)
        _, mask = NegativeSampler(kg, 7).draw(rows_of(kg, 0, 0, 3), generator(0))
        assert not mask.any()

    def test_the_generator_decides(self, kg) -> None:
        sampler, rows = NegativeSampler(kg, 9), rows_of(kg, 1, 0, 4)
        first, again, other = (sampler.draw(rows, generator(seed))[0] for seed in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)


class TestBatches:
    def test_each_triple_has_negatives_of_its_own_query(self, kg) -> None:
        for batch in TripleBatches(kg, 3, 50).epoch(generator(5)):
            triples = torch.stack([batch.heads, batch.relations, batch.tails], 1)
            assert torch.equal(triples, kg.edges[batch.edges])
            heads, relations = batch.heads.unsqueeze(1), batch.relations.unsqueeze(1)
            known = kg.train_index.contains(heads, relations, batch.negatives)
            assert torch.equal(batch.mask, ~known)

    def test_chosen_edges_with_repeats(self, kg) -> None:
        chosen = torch.tensor([3, 3, 7, 0])
        epoch = list(TripleBatches(kg, 3, 2).epoch(generator(0), chosen))
        assert sorted(torch.cat([batch.edges for batch in epoch]).tolist()) == [0, 3, 3, 7]
        assert [len(batch) for batch in epoch] == [3, 1]

    def test_batches_are_the_same_whatever_is_drawn_at_once(self, kg, monkeypatch) -> None:
        epoch = list(TripleBatches(kg, 2, 3).epoch(generator(0)))
        monkeypatch.setattr("dglkgmix.sampling.negatives._BLOCK", 12)
        blocks = list(TripleBatches(kg, 2, 3).epoch(generator(0)))
        assert [b.edges.tolist() for b in blocks] == [b.edges.tolist() for b in epoch]
        assert [b.negatives.shape for b in blocks] == [(2, 3)] * 5

    @pytest.mark.parametrize(("extra", "sizes"), [([], [8, 2]), ([3, 3, 7], [8, 5])])
    def test_by_query(self, kg, extra: list[int], sizes: list[int]) -> None:
        """Seven queries; of those with three triples two stand together, a quarter of a batch.

        The end of a batch may cut one more in two.
        """
        batches = TripleBatches(kg, 8, 50, by_query=True)
        chosen = torch.tensor([*range(10), *extra])
        epoch = list(batches.epoch(generator(5), chosen))
        assert [len(batch) for batch in epoch] == sizes
        encoded, longer = sum(len(batch.heads) for batch in epoch), 1 + bool(extra)
        assert 7 <= encoded <= 7 + longer + 1
        edges = torch.cat([batch.edges for batch in epoch])
        assert sorted(edges.tolist()) == sorted(chosen.tolist())
        for batch in epoch:
            asked = zip(batch.heads.tolist(), batch.relations.tolist(), strict=True)
            assert len(set(asked)) == len(batch.heads)
            assert len(batch) == len(batch.tails) == len(batch.rows)
            heads, relations = batch.of_positives(batch.heads), batch.of_positives(batch.relations)
            assert torch.equal(
                torch.stack([heads, relations, batch.tails], 1), kg.edges[batch.edges]
            )
            known = kg.train_index.contains(
                heads.unsqueeze(1), relations.unsqueeze(1), batch.negatives
            )
            assert torch.equal(batch.mask, ~known)
        again = list(batches.epoch(generator(6), chosen))
        assert [b.heads.tolist() for b in again] != [b.heads.tolist() for b in epoch]

    @pytest.mark.parametrize(("size", "count"), [(0, 5), (5, 0)])
    def test_sizes_of_nothing_are_refused(self, kg, size: int, count: int) -> None:
        with pytest.raises(ConfigError, match=r"training\.\w+ is 0: it must be 1 or more"):
            TripleBatches(kg, size, count)
