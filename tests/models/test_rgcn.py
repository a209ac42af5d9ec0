"""The R-GCN encoder: what it learns through neighbours alone."""

from dataclasses import replace

import torch

from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.models.rgcn import RGCN
from tests.settings import settled_model


def test_relations_named_like_attributes_train():
    names = ["type", "keys", "to", "/a/b./c"]
    rows = [("x", name, f"y{i}") for i, name in enumerate(names)]
    rgcn = RGCN(KnowledgeGraph.from_names(rows), 4, 4, bases=2)
    assert rgcn.encode().relations.shape == (8, 4)


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
    lookup = settled_model("distmult", 32, input_dropout=0.0)
    rgcn = replace(lookup, encoder="rgcn", layers=2, bases=4, residual="none", encoder_dropout=0.0)
    chance = sum(1 / rank for rank in range(1, CLASSES + 1)) / CLASSES  # 0.521
    assert class_mrr(kg, lookup, epochs=18) < chance + 0.1
    assert class_mrr(kg, rgcn, epochs=18) >= 0.9
