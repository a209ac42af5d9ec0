"""Ids become vectors here, and only here."""

from dataclasses import replace

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from tests.settings import settled_model

KG = KnowledgeGraph.from_arrays([(0, 0, 1), (1, 0, 2), (2, 1, 3), (3, 1, 0)])
OPTIONS = settled_model("distmult", 4, bias=True, bases=2)
HEADS, RELATIONS = torch.tensor([0, 1, 3]), torch.tensor([3, 0, 3])


def model(**options):
    return LinkPredictor.build(replace(OPTIONS, **options), KG, seed=1)


def test_tucker_meets_each_relation_once():
    predictor = model(decoder="tucker").eval()
    vectors, seen = predictor.encode(), []
    inner = predictor.decoder.query

    def watch(*args):
        seen.append(args)
        return inner(*args)

    predictor.decoder.query = watch
    query = predictor.query(vectors, HEADS, RELATIONS)
    head, relation, rows = seen[0]
    assert relation.shape == (2, 4)
    assert rows.tolist() == [1, 0, 1]
    direct = inner(head, vectors.relation(RELATIONS))
    torch.testing.assert_close(query, direct)


def test_mixed_query_mixes_vectors():
    predictor = model()
    x, r = predictor.encoder.entity_table, predictor.encoder.relation_table
    first, second = torch.tensor([[0, 1, 2]]), torch.tensor([[3, 2, 2]])
    predictor.eval()  # no dropout: compare what goes in
    expected = (0.75 * x[0] + 0.25 * x[3]) * (0.75 * r[1] + 0.25 * r[2])
    query = predictor.mixed_query(predictor.encode(), first, second, torch.tensor([0.75]))
    torch.testing.assert_close(query[0], expected)


def no_dropout(decoder):
    names = ("input_dropout", "feature_dropout", "hidden_dropout")
    none = dict.fromkeys((*names, "hidden_dropout1", "hidden_dropout2"), 0.0)
    return model(decoder=decoder, entity_dim=12, relation_dim=12, **none)


@pytest.mark.parametrize("decoder", ["conve", "tucker"])
@pytest.mark.parametrize("samples", [0, 1, 3])
def test_mixed_pass_leaves_running_statistics_alone(decoder, samples):
    predictor = no_dropout(decoder)
    predictor.query(predictor.encode(), HEADS, RELATIONS)  # statistics unlike those of a batch
    before = {name: value.clone() for name, value in predictor.named_buffers()}
    triples = torch.tensor([[0, 1, 2], [3, 3, 1], [2, 0, 0]])[:samples]
    vectors = predictor.encode()
    mixed = predictor.mixed_query(vectors, triples, triples.flip(0), torch.ones(samples))
    assert mixed.shape == (samples, 12)
    for name, value in predictor.named_buffers():
        assert torch.equal(value, before[name]), name
    # λ = 1 gives the plain query of the first triples: with the batch's own statistics, or with
    # the running ones where there is one sample.
    predictor.train(samples > 1)
    torch.testing.assert_close(mixed, predictor.query(vectors, triples[:, 0], triples[:, 1]))


def test_build_is_a_matter_of_the_seed_and_touches_no_global_state():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two, other = (LinkPredictor.build(OPTIONS, KG, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one.encoder.entity_table, two.encoder.entity_table)
    assert not torch.equal(one.encoder.entity_table, other.encoder.entity_table)
    assert one.num_entities == 4
    assert one.encoder.relation_table.shape == (4, 4)


def test_no_bias_unless_asked_for():
    assert model(bias=False).bias is None
    with pytest.raises(ConfigError, match=r"model\.bias is still 'auto'"):
        model(bias="auto")


def test_tables_start_at_the_scale_that_is_asked_for():
    options = settled_model("complex", 64)
    kg = KnowledgeGraph.from_arrays([(0, 0, 399)], entities=400, relations=50)
    made = {
        scale: LinkPredictor.build(replace(options, init_scale=scale), kg, seed=3).encoder
        for scale in (1e-3, 2e-3)
    }
    for name in ("entity_table", "relation_table"):
        small, large = (getattr(encoder, name) for encoder in made.values())
        assert float(small.detach().std()) == pytest.approx(1e-3, rel=0.05)
        torch.testing.assert_close(large, 2 * small)
