"""What every encoder must do."""

import copy
from dataclasses import replace

import pytest
import torch
from torch.optim.swa_utils import AveragedModel

from dglkgmix.config import ModelConfig
from dglkgmix.config.classes import DECODERS, ENCODERS
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.models.registry import build_decoder, build_encoder
from tests.graphs import random_rows

E, R, D = 11, 3, 12
OPTIONS = ModelConfig(
    input_dropout=0.2, decoder="tucker", entity_dim=D, relation_dim=5, bases=3, layers=2, bias=True
)
CASES = {
    "lookup": {"encoder": "lookup"},
    "rgcn-basis": {"encoder": "rgcn"},
    "rgcn-block": {"encoder": "rgcn", "decomposition": "block"},
    "rgcn-sampled": {"encoder": "rgcn", "fanout": 2},
    "subtract": {"encoder": "compgcn", "relation_dim": D, "composition": "subtract"},
    "multiply": {"encoder": "compgcn", "relation_dim": D},
    "correlate": {"encoder": "compgcn", "relation_dim": D, "composition": "correlate"},
    "compgcn-sampled": {"encoder": "compgcn", "relation_dim": D, "fanout": 2},
}
cases = pytest.mark.parametrize("case", CASES)
# Decoders whose relations are longer or shorter than entities: CompGCN composes none of them.
UNEQUAL = ("rescal", "rotate")


ROWS = random_rows(E, R, 40).unique(dim=0)
KG = KnowledgeGraph.from_arrays(ROWS, entities=E, relations=R)


def encoder(case, kg=KG):
    options = replace(OPTIONS, **CASES[case])
    torch.manual_seed(1)
    built = build_encoder(options, kg, build_decoder(options))
    for table in (built.entity_table, built.relation_table):
        torch.nn.init.normal_(table)
    return built


def test_every_encoder_has_a_case():
    assert {options["encoder"] for options in CASES.values()} == set(ENCODERS)


@cases
def test_vectors_of_all_entities_in_the_order_of_ids(case):
    built = encoder(case)
    relation_dim = CASES[case].get("relation_dim", OPTIONS.relation_dim)
    tables = {"entity_table": (E, D), "relation_table": (2 * R, relation_dim)}
    vectors = built.encode()
    assert {n: tuple(built.state_dict()[n].shape) for n in tables} == tables
    assert vectors.entities.shape == (E, D)
    assert vectors.relations.shape == (2 * R, relation_dim)
    ids = torch.tensor([[4, 0], [9, 9]])
    assert torch.equal(vectors.entity(ids), vectors.entities[ids])
    assert torch.equal(vectors.relation(ids // 2), vectors.relations[ids // 2])


@cases
def test_nodes_get_vectors_whatever_else_is_encoded(case):
    nodes = torch.tensor([7, 2, 7, 10])
    vectors = encoder(case).encode(nodes=nodes)
    assert vectors.entity(nodes).shape == (4, D)
    assert torch.equal(vectors.entity(nodes)[0], vectors.entity(nodes)[2])


@cases
def test_eval_mode_is_deterministic_and_hides_nothing(case):
    built = encoder(case).eval()
    state = torch.get_rng_state()
    first = built.encode().entities
    assert torch.equal(built.encode(hidden_edges=torch.arange(20)).entities, first)
    assert torch.equal(torch.get_rng_state(), state)


@cases
def test_gradients_reach_every_parameter(case):
    built = encoder(case)
    vectors = built.encode(torch.tensor([3]))
    (vectors.entities.square().sum() + vectors.relations.sum()).backward()
    for name, parameter in built.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad != 0).any(), name


@cases
def test_double_precision(case):
    assert encoder(case).double().encode().entities.dtype == torch.float64


@cases
def test_copies_average_and_load(case):
    built = encoder(case)
    average = AveragedModel(built)
    average.update_parameters(built)
    other = copy.deepcopy(built)
    torch.nn.init.zeros_(other.entity_table)
    other.load_state_dict(average.module.state_dict())
    assert torch.equal(other.eval().encode().entities, built.eval().encode().entities)


@cases
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_batchs_own_edges_are_no_help_to_its_scores(case, decoder):
    """The leak test: the graph may hold the batch's triples and reciprocals, or never had them."""
    batch = torch.tensor([0, 5, 6, 17])
    kept = torch.ones(len(ROWS), dtype=torch.bool).index_fill(0, batch, False)
    without = KnowledgeGraph.from_arrays(ROWS[kept], entities=E, relations=R)
    options = replace(OPTIONS, **{**CASES[case], "relation_dim": D, "encoder_dropout": 0.0})
    options = replace(options, decoder=decoder)
    if options.encoder == "compgcn" and decoder in UNEQUAL:
        return
    # All neighbours where they are sampled: two graphs give two samples.
    options = replace(options, fanout=1000 if options.fanout else 0)
    # A batch asks in both directions.
    asked = torch.cat([batch, (batch + KG.num_edges // 2)])
    heads, relations, _ = KG.edges[asked].unbind(1)
    results = []
    for kg, hidden in ((KG, asked), (without, None), (KG, None)):
        # In float64: two graphs sum in two orders, and float32 shows it now and then.
        model = LinkPredictor.build(options, kg, seed=3).double()
        vectors = model.encode(hidden_edges=hidden)
        model.decoder.eval()
        results.append(model.score_all(vectors, model.query(vectors, heads, relations)))
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=1e-6)
    if options.encoder != "lookup":
        assert not torch.allclose(results[0], results[2], rtol=1e-5, atol=1e-6)
