from collections import Counter

import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError, DataError
from dglkgmix.pipeline.collator import MixupCollator
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.pipeline.negative_samplers import FilteredNegativeSampler
from dglkgmix.pipeline.partners import MixupPartners
from tests.pipeline.graphs import CAUSES, REVERSE, TREATS, TRIPLES, every_edge, medical, two_way

pytestmark = pytest.mark.filterwarnings("ignore:Dataloader CPU affinity")


def edge_sampler(negatives=None):
    return dgl.dataloading.as_edge_prediction_sampler(
        dgl.dataloading.MultiLayerFullNeighborSampler(1), negative_sampler=negatives
    )


def loader(graph, negatives=None, batch_size=5):
    torch.manual_seed(0)
    return dgl.dataloading.DataLoader(
        graph, every_edge(graph), edge_sampler(negatives), batch_size=batch_size, shuffle=True
    )


def test_an_epoch_holds_every_edge_once():
    graph = two_way()
    ids = GraphIds(graph, reverse_etypes=REVERSE)
    collate = MixupCollator(ids)
    items = [collate(batch).batch for batch in loader(graph, FilteredNegativeSampler(ids, 4))]
    rows = torch.cat([item.edges for item in items])
    copies = torch.tensor([2, 2 + 9])  # treats 0 stands there twice
    assert torch.equal(rows.sort().values, torch.cat([torch.arange(18), copies]).sort().values)
    for item in items:
        triples = torch.stack([item.heads, item.relations, item.tails], 1)
        assert torch.equal(triples, ids.kg.edges[item.edges])
        assert item.negatives.shape == item.mask.shape == (len(item), 4)


def test_negatives_come_from_the_batch():
    """By head and edge type they are those that DGL's negative graph holds."""
    graph = two_way()
    ids = GraphIds(graph, reverse_etypes=REVERSE)
    types = ids.kg.node_types
    for batch in loader(graph, FilteredNegativeSampler(ids, 3)):
        item = MixupCollator(ids)(batch).batch
        drawn = Counter()
        for etype in graph.canonical_etypes:
            ends = zip((etype[0], etype[2]), batch[2].edges(etype=etype), strict=True)
            heads, tails = (ids.entities(n, batch[2].nodes[n].data[dgl.NID][e]) for n, e in ends)
            relations = [ids.relations[etype]] * len(heads)
            drawn.update(zip(heads.tolist(), relations, tails.tolist(), strict=True))
        columns = [column.expand_as(item.mask)[item.mask] for column in item_columns(item)]
        assert Counter(map(tuple, torch.stack(columns, 1).tolist())) == drawn
        assert not ids.kg.train_index.contains(*columns).any()
        # Gene 1 read backwards interacts with both genes: it has no negatives.
        assert torch.equal(item.mask.all(1), (item.heads != 8) | (item.relations != 7))
        assert torch.equal(item.mask.any(1), item.mask.all(1))
        assert torch.equal(types[item.negatives], types[item.tails][:, None].expand(-1, 3))


def item_columns(item):
    return item.heads[:, None], item.relations[:, None], item.negatives


def test_edges_in_another_order_than_their_negatives():
    graph = medical()
    sampler = edge_sampler(FilteredNegativeSampler(GraphIds(graph), 2))
    ids = GraphIds(graph)
    for order in ([2, 0, 1, 3], [3, 1, 0, 2]):
        item = MixupCollator(ids)(sampler.sample(graph, {TREATS: torch.tensor(order)})).batch
        assert not ids.kg.train_index.contains(*item_columns(item)).any()
        assert item.mask.all()


def test_samplers_that_know_no_filter(ids):
    """Their known negatives are masked."""
    uniform = dgl.dataloading.negative_sampler.PerSourceUniform(20)
    item = MixupCollator(ids)(edge_sampler(uniform).sample(ids.graph, every_edge(ids.graph))).batch
    known = ids.kg.train_index.contains(*item_columns(item))
    assert item.negatives.shape == (10, 20)
    assert torch.equal(item.mask, ~known)
    assert known.any()


def test_a_head_linked_to_all_nodes_has_a_masked_row():
    graph = dgl.heterograph({("a", "r", "b"): ([0, 0, 1], [0, 1, 0])})
    ids = GraphIds(graph)
    batch = edge_sampler(FilteredNegativeSampler(ids, 3)).sample(graph, every_edge(graph))
    item = MixupCollator(ids)(batch)
    assert item.batch.heads.tolist() == [0, 0, 1]
    assert item.batch.negatives.tolist() == [[2] * 3, [3] * 3, [3] * 3]
    assert item.batch.mask.tolist() == [[False] * 3, [False] * 3, [True] * 3]
    assert item.terms == 3 + 3


def test_negatives_that_fit_no_edge_are_refused():
    graph = medical()

    class OneForAll:
        def __call__(self, g, eids):
            return {TREATS: (torch.tensor([0]), torch.tensor([1]))}

    batch = edge_sampler(OneForAll()).sample(graph, every_edge(graph))
    with pytest.raises(DataError, match="1 negative pairs for 10 edges"):
        MixupCollator(GraphIds(graph))(batch)


def test_mixed_samples_are_those_of_the_batchs_edges(ids):
    partners = MixupPartners(ids, partners=2, seed=3)
    asked = {TREATS: torch.tensor([0, 2]), CAUSES: torch.tensor([0])}
    item = MixupCollator(ids, partners)(edge_sampler().sample(ids.graph, asked))
    expected = partners(asked)
    for name in ("first", "second", "lam", "positions", "partners"):
        assert torch.equal(getattr(item.synthetic, name), getattr(expected, name))
    assert item.batch.edges.tolist() == [2, 4, 5]
    assert torch.equal(item.hidden_edges, torch.cat([item.batch.edges, expected.partners]))
    heads = {*item.batch.heads.tolist(), *expected.second[:, 0].tolist()}
    assert set(item.nodes().tolist()) == {0, 1} | heads


def test_nothing_to_mix(ids):
    batch = edge_sampler().sample(ids.graph, {TREATS: torch.tensor([2])})
    assert MixupCollator(ids, MixupPartners(ids))(batch).synthetic is None
    assert MixupCollator(ids)(batch).synthetic is None


def test_without_negatives_there_are_none(ids):
    batch = edge_sampler().sample(ids.graph, {TREATS: torch.tensor([2, 0])})
    assert MixupCollator(ids)(batch).batch.negatives.shape == (2, 0)
    both = MixupCollator(ids, both_directions=True)(batch)
    assert both.batch.negatives.shape == (4, 0)
    drawn = MixupCollator(ids, negatives=FilteredNegativeSampler(ids, 6))(batch).batch
    assert drawn.negatives.shape == (2, 6)
    assert drawn.mask.all()


@pytest.mark.parametrize("in_batch", [True, False])
def test_both_directions(in_batch, ids):
    negatives = FilteredNegativeSampler(ids, 4)
    batch = edge_sampler(negatives if in_batch else None).sample(
        ids.graph, {TREATS: torch.tensor([0, 1, 2])}
    )
    collate = MixupCollator(ids, MixupPartners(ids), negatives=negatives, both_directions=True)
    item = collate(batch)
    real = item.batch
    assert real.edges.tolist() == [2, 3, 4, 11, 12, 13]
    assert real.heads[3:].tolist() == [TRIPLES[row][2] for row in (2, 3, 4)]
    assert (real.relations[3:] == 5).all()
    assert real.mask.all()
    assert ((real.negatives[3:] >= 4) & (real.negatives[3:] < 7)).all(), "drugs"
    assert not ids.kg.train_index.contains(*item_columns(real)).any()
    assert {3, 4} <= set(item.synthetic.positions.tolist()), "reciprocals are mixed"


def test_both_directions_that_cannot_be(ids):
    batch = edge_sampler(FilteredNegativeSampler(ids, 4)).sample(ids.graph, every_edge(ids.graph))
    with pytest.raises(ConfigError, match="edges of reverse types"):
        MixupCollator(GraphIds(two_way(), reverse_etypes=REVERSE), both_directions=True)
    with pytest.raises(ConfigError, match="has 4 negatives for an edge, and 0 would be drawn"):
        MixupCollator(ids, both_directions=True)(batch)
    with pytest.raises(ConfigError, match="has 4 negatives for an edge, and 3 would be drawn"):
        MixupCollator(ids, negatives=FilteredNegativeSampler(ids, 3), both_directions=True)(batch)


def test_relations_as_numbers():
    graph = dgl.to_homogeneous(medical())
    ids = GraphIds(graph)
    for batch in loader(graph, FilteredNegativeSampler(ids, 3), batch_size=4):
        item = MixupCollator(ids, MixupPartners(ids))(batch).batch
        assert not ids.kg.train_index.contains(*item_columns(item))[item.mask].any()


def test_narrow_ids():
    graph = medical(torch.int32)
    ids = GraphIds(graph)
    eids = {t: e.int() for t, e in every_edge(graph).items()}
    batch = edge_sampler(FilteredNegativeSampler(ids, 3)).sample(graph, eids)
    assert MixupCollator(ids)(batch).batch.negatives.dtype == torch.int64
