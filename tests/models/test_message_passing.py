"""What encoders of message passing share: what is hidden, sampled, copied, computed."""

import copy

import pytest
import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.compgcn import CompGCN
from dglkgmix.models.links import Links
from dglkgmix.models.neighbourhood import Neighbourhood
from dglkgmix.models.rgcn import RGCN
from tests.graphs import random_rows

KG = KnowledgeGraph.from_arrays(random_rows(12, 3, 60), entities=13, relations=3)
FULL = Neighbourhood.full(KG)
kinds = pytest.mark.parametrize("kind", [RGCN, CompGCN])


def encoder(kind, kg=KG, **options):
    torch.manual_seed(1)
    made = kind(kg, 4, 4, **{"layers": 2, **options})
    for table in (made.entity_table, made.relation_table):
        torch.nn.init.normal_(table)
    return made


def encoded(made, hidden=None, **kw):
    return made.encode(hidden, **kw).entities


def seeded(seed, *given):
    torch.manual_seed(seed)
    return encoded(*given)


@kinds
def test_hiding_an_edge_or_its_reciprocal_is_the_same(kind):
    made, half = encoder(kind), KG.num_edges // 2
    torch.testing.assert_close(
        encoded(made, torch.tensor([5, 7])), encoded(made, torch.tensor([5 + half, 7, 7 + half]))
    )


@kinds
def test_edge_dropout_hides_its_share(kind):
    never, all_edges = encoder(kind, edge_dropout=0.0), torch.arange(KG.num_edges)
    torch.testing.assert_close(encoded(never, all_edges), encoded(never))
    some = encoder(kind, edge_dropout=0.5)
    one, two, again = (seeded(seed, some, all_edges) for seed in (1, 2, 1))
    assert not torch.allclose(one, two)
    torch.testing.assert_close(one, again)


@kinds
def test_sampling_with_a_large_fanout_is_the_full_graph(kind):
    full, hidden, nodes = encoder(kind), torch.tensor([1, 4]), torch.tensor([9, 2, 9, 12])
    vectors = encoder(kind, fanout=1000).encode(hidden, nodes=nodes)
    assert len(vectors.entities) == 3
    torch.testing.assert_close(vectors.entity(nodes), encoded(full, hidden)[nodes])
    every = encoder(kind, fanout=1000).encode(hidden)
    torch.testing.assert_close(every.entities, encoded(full, hidden))
    assert every.position is None


@kinds
def test_sampling_draws_from_pytorch_s_generator(kind):
    made = encoder(kind, fanout=1)
    one, two, again = (seeded(seed, made) for seed in (1, 2, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, two)


@kinds
def test_torch_path_gives_the_same_vectors_and_gradients(kind, monkeypatch):
    made, hidden = encoder(kind, residual="none"), torch.tensor([0, 9])
    results = []
    for way in (Links.sum_by_dgl, Links.sum_by_torch):
        monkeypatch.setattr(Links, "sum", way)
        made.zero_grad()
        entities = encoded(made, hidden)
        entities.square().sum().backward()
        gradients = [p.grad for p in made.parameters() if p.grad is not None]
        results.append([entities, *gradients])
    # One result, the tables, and the parameters of two layers. No vector is made of the relations
    # that the last one makes.
    assert len(results[0]) == {RGCN: 1 + 1 + 4 + 4, CompGCN: 1 + 2 + 5 + 4}[kind]
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-5)


@kinds
def test_autocast_leaves_the_encoder_in_full_precision(kind):
    with torch.autocast("cpu", torch.bfloat16):
        assert encoded(encoder(kind)).dtype == torch.float32


@kinds
def test_copies_share_the_graph(kind):
    made = encoder(kind)
    assert copy.deepcopy(made).messages is made.messages


@kinds
def test_an_entity_without_edges_and_a_relation_without_training_triples(kind):
    kg = KnowledgeGraph.from_arrays([(0, 0, 1)], valid=[(0, 1, 1)], entities=3, relations=2)
    assert encoded(encoder(kind, kg)).isfinite().all()


@kinds
def test_a_layer_adds_its_messages_to_the_table(kind):
    made = encoder(kind, layers=1, residual=0.25)
    vectors = made.encode()
    messages = made.layers[0](made.entity_table, made.relation_table, FULL, None)[0]
    assert messages.abs().max() > 0.1
    torch.testing.assert_close(vectors.entities, made.entity_table + 0.25 * messages)
    assert vectors.relations is made.relation_table


@pytest.mark.parametrize("residual", [0.5, "none"])
@kinds
def test_layers_after_the_first_take_what_is_above_0(kind, residual):
    made = encoder(kind, residual=residual)
    x, z = made.entity_table, made.relation_table
    first, z = made.layers[0](x, z, FULL, None)
    x = first if residual == "none" else x + 0.5 * first
    second, z = made.layers[1](x.relu(), z, FULL, None)
    expected = second if residual == "none" else x + 0.5 * second
    vectors = made.encode()
    torch.testing.assert_close((vectors.entities, vectors.relations), (expected, z))
