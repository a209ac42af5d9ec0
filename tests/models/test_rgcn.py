"""The R-GCN encoder: what is hidden, sampled, shared, and learnt through neighbours alone."""

import copy
from dataclasses import replace

import torch

from dglkgmix.config import ModelConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.models.links import Links
from dglkgmix.models.rgcn import RGCN
from tests.graphs import random_rows

KG = KnowledgeGraph.from_arrays(random_rows(12, 3, 60), entities=13, relations=3)


def encoder(kg=KG, **options):
    torch.manual_seed(1)
    rgcn = RGCN(kg, 4, 4, **{"layers": 2, "bases": 2, **options})
    torch.nn.init.normal_(rgcn.entity_table)
    return rgcn


def encoded(rgcn, hidden=None, **kw):
    return rgcn.encode(hidden, **kw).entities


def test_hiding_an_edge_or_its_reciprocal_is_the_same():
    rgcn, half = encoder(), KG.num_edges // 2
    torch.testing.assert_close(
        encoded(rgcn, torch.tensor([5, 7])), encoded(rgcn, torch.tensor([5 + half, 7, 7 + half]))
    )


def test_edge_dropout_hides_its_share():
    never, all_edges = encoder(edge_dropout=0.0), torch.arange(KG.num_edges)
    torch.testing.assert_close(encoded(never, all_edges), encoded(never))
    some = encoder(edge_dropout=0.5)
    one, two = (
        encoded(some, all_edges, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2)
    )
    assert not torch.allclose(one, two)
    again = encoded(some, all_edges, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(one, again)


def test_sampling_with_a_large_fanout_is_the_full_graph():
    full, hidden, nodes = encoder(), torch.tensor([1, 4]), torch.tensor([9, 2, 9, 12])
    vectors = encoder(fanout=1000).encode(hidden, nodes=nodes)
    assert len(vectors.entities) == 3
    torch.testing.assert_close(vectors.entity(nodes), encoded(full, hidden)[nodes])
    every = encoder(fanout=1000).encode(hidden)
    torch.testing.assert_close(every.entities, encoded(full, hidden))
    assert every.position is None


def test_sampling_draws_from_the_generator():
    rgcn = encoder(fanout=1)
    one, two, again = (
        encoded(rgcn, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2, 1)
    )
    assert torch.equal(one, again)
    assert not torch.equal(one, two)


def test_torch_path_gives_the_same_vectors_and_gradients(monkeypatch):
    rgcn, hidden = encoder(), torch.tensor([0, 9])
    results = []
    for way in (Links.sum_by_dgl, Links.sum_by_torch):
        monkeypatch.setattr(Links, "sum", way)
        rgcn.zero_grad()
        entities = encoded(rgcn, hidden)
        entities.square().sum().backward()
        gradients = [p.grad for p in rgcn.parameters() if p.grad is not None]
        results.append([entities, *gradients])
    assert len(results[0]) == 10  # 1 result, the table, and 4 parameters of each of 2 layers
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-5)


def test_autocast_leaves_the_encoder_in_full_precision():
    with torch.autocast("cpu", torch.bfloat16):
        assert encoded(encoder()).dtype == torch.float32


def test_copies_share_the_graph():
    rgcn = encoder()
    assert copy.deepcopy(rgcn).messages is rgcn.messages


def test_relations_named_like_attributes_train():
    names = ["type", "keys", "to", "/a/b./c"]
    rows = [("x", name, f"y{i}") for i, name in enumerate(names)]
    rgcn = RGCN(KnowledgeGraph.from_names(rows), 4, 4, bases=2)
    assert rgcn.encode().relations.shape == (8, 4)


def test_a_relation_without_training_triples_and_a_lonely_entity():
    kg = KnowledgeGraph.from_arrays([(0, 0, 1)], valid=[(0, 1, 1)], entities=3, relations=2)
    assert encoded(encoder(kg)).isfinite().all()


# A graph in which (v, answer, c) follows from two neighbours of v together: v has one of four
# left and one of four right neighbours, and the answer is the class (left + right) mod 4. No sum
# of what either neighbour says alone tells it.
CLASSES = 4
MEMBERS = 12  # for each pair of neighbours, the last two of them asked for in test


def addition_graph():
    left, right, answer = 0, 1, 2
    train, test, entity = [], [], 3 * CLASSES
    for a in range(CLASSES):
        for b in range(CLASSES):
            for member in range(MEMBERS):
                train += [(entity, left, a), (entity, right, CLASSES + b)]
                asked = test if member >= MEMBERS - 2 else train
                asked.append((entity, answer, 2 * CLASSES + (a + b) % CLASSES))
                entity += 1
    return KnowledgeGraph.from_arrays(train, test=test, entities=entity, relations=3)


def class_mrr(kg, options, epochs):
    """MRR of the test answers among the classes, after training on the answers alone."""
    torch.manual_seed(0)
    model = LinkPredictor.build(options, kg, seed=0)
    for table in (model.encoder.entity_table, model.encoder.relation_table):
        torch.nn.init.normal_(table)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    asked = (kg.edges[:, 1] == 2).nonzero().flatten()
    for _ in range(epochs):
        for batch in asked[torch.randperm(len(asked))].split(64):
            optimizer.zero_grad()
            heads, relations, tails = kg.edges[batch].unbind(1)
            vectors = model.encode(hidden_edges=batch)
            scores = model.score_all(vectors, model.query(vectors, heads, relations))
            torch.nn.functional.cross_entropy(scores, tails).backward()
            optimizer.step()
    model.eval()
    heads, relations, tails = kg.test.unbind(1)
    vectors = model.encode()
    classes = torch.arange(2 * CLASSES, 3 * CLASSES).expand(len(heads), -1)
    scores = model.score(vectors, model.query(vectors, heads, relations), classes)
    true = scores.gather(1, (tails - 2 * CLASSES).unsqueeze(1))
    return float((1.0 / (1 + (scores > true).sum(1))).mean())


def test_answers_that_only_neighbours_tell():
    kg = addition_graph()
    lookup = ModelConfig(
        decoder="distmult", entity_dim=32, relation_dim=32, bias=False, input_dropout=0.0
    )
    rgcn = replace(lookup, encoder="rgcn", layers=2, bases=4, encoder_dropout=0.0)
    chance = sum(1 / rank for rank in range(1, CLASSES + 1)) / CLASSES  # 0.521
    assert class_mrr(kg, lookup, epochs=18) < chance + 0.1
    assert class_mrr(kg, rgcn, epochs=18) >= 0.9
