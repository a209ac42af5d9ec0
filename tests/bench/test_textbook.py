"""The plain side is right: it ranks and scores as dglkgmix does."""

import torch

from bench import textbook


def test_targets_are_the_training_tails(graph):
    index = textbook.QueryIndex(graph.edges, graph.num_entities)
    seen = 0
    for heads, relations, targets in index.batches(3):
        for head, relation, row in zip(heads.tolist(), relations.tolist(), targets, strict=True):
            tails = graph.edges[(graph.edges[:, :2] == torch.tensor([head, relation])).all(1), 2]
            assert row.nonzero().flatten().tolist() == sorted(tails.tolist())
            seen += len(tails)
    assert seen == graph.num_edges


def test_partners_share_the_tail_and_are_never_the_triple_itself(graph):
    index = textbook.PartnerIndex(graph.edges)
    first, second = index.draw(list(range(graph.num_edges)), 3, 2)
    assert (graph.edges[first, 2] == graph.edges[second, 2]).all()
    assert (first != second).all()
    degrees = graph.degrees.edge_tail_relation
    assert torch.tensor(index.degree).equal(degrees)
    assert (degrees[first] < 3).all()


def test_every_step_learns(graph):
    torch.manual_seed(0)
    sizes = (graph.num_entities, graph.num_query_relations)
    index = textbook.QueryIndex(graph.edges, graph.num_entities)
    models = [textbook.ConvE(*sizes), textbook.DistMult(*sizes), textbook.TuckER(*sizes, dim=8)]
    for model in models:
        before = model.entity.weight.detach().clone()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        list(textbook.train_epoch(model, optimizer, index, len(index.queries)))
        assert not torch.equal(model.entity.weight, before)
    mixing = torch.optim.Adam(models[0].parameters(), lr=1e-3)
    partners = textbook.PartnerIndex(graph.edges)
    list(textbook.mixup_epoch(models[0], mixing, partners, graph.num_edges, negatives=3))
    assert all(p.grad is not None for p in models[0].parameters())
