"""What every decoder must do, in front of every encoder."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from dglkgmix.config import ModelConfig
from dglkgmix.config.classes import DECODERS, ENCODERS, find
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.models.registry import build_decoder
from tests.graphs import random_graph

E, R, D = 9, 5, 12
OPTIONS = ModelConfig(
    input_dropout=0.2, entity_dim=D, relation_dim=D, bias=True, filters=4, bases=3, height=4
)


KG = random_graph(E, R, 40)
HEADS = torch.tensor([0, 3, 5, 8, 3, 0])
RELATIONS = torch.tensor([1, 0, 9, 2, 0, 0])
pairs = pytest.mark.parametrize(
    ("decoder", "encoder"),
    [
        (decoder, encoder)
        for decoder in DECODERS
        for encoder in ENCODERS
        # CompGCN composes entities with relations of the same length.
        if encoder != "compgcn" or decoder not in ("rescal", "rotate")
    ],
)
decoders = pytest.mark.parametrize("decoder", DECODERS)


def model(decoder, encoder="lookup", **options):
    predictor = LinkPredictor.build(
        replace(OPTIONS, decoder=decoder, encoder=encoder, **options), KG, seed=1
    )
    torch.manual_seed(2)
    for parameter in predictor.parameters():
        torch.nn.init.normal_(parameter, std=0.4)  # nothing at a value that hides a fault
    for name, buffer in predictor.named_buffers():
        if name.endswith("running_var"):
            buffer.uniform_(0.5, 2.0)
        elif name.endswith("running_mean"):
            buffer.normal_()
    return predictor.double()


def scores(predictor, heads, relations):
    vectors = predictor.encode()
    return predictor.score_all(vectors, predictor.query(vectors, heads, relations))


@pairs
def test_scores_triple_by_triple_are_the_scores_all_at_once(decoder, encoder):
    predictor = model(decoder, encoder).eval()
    vectors = predictor.encode()
    query = predictor.query(vectors, HEADS, RELATIONS)
    every = torch.arange(E).expand(len(HEADS), -1)
    at_once = predictor.score_all(vectors, query)
    torch.testing.assert_close(predictor.score(vectors, query, every), at_once)
    for b, row in enumerate(at_once):
        alone = predictor.query(vectors, HEADS[b : b + 1], RELATIONS[b : b + 1])
        for tail, expected in enumerate(row):
            one = predictor.score(vectors, alone, torch.tensor([[tail]]))
            torch.testing.assert_close(one, expected.view(1, 1), rtol=1e-9, atol=1e-9)
    bare = predictor.score(vectors, query, every, with_bias=False)
    torch.testing.assert_close(bare + predictor.bias, at_once)


@pairs
def test_gradients_reach_every_parameter(decoder, encoder):
    predictor = model(decoder, encoder, input_dropout=0.1, layers=2).train()
    weight = torch.randn(len(HEADS), E, dtype=torch.float64)
    (scores(predictor, HEADS, RELATIONS) * weight).sum().backward()
    for name, parameter in predictor.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any(), name


@pairs
def test_eval_mode_is_deterministic(decoder, encoder):
    predictor = model(decoder, encoder).eval()
    before = torch.get_rng_state()
    first = scores(predictor, HEADS, RELATIONS)
    assert torch.equal(first, scores(predictor, HEADS, RELATIONS))
    assert torch.equal(torch.get_rng_state(), before)


@pairs
def test_eval_scores_do_not_depend_on_the_batch(decoder, encoder):
    predictor = model(decoder, encoder).float().eval()
    together = scores(predictor, HEADS, RELATIONS)
    for b in range(len(HEADS)):
        alone = scores(predictor, HEADS[b : b + 1], RELATIONS[b : b + 1])
        torch.testing.assert_close(alone[0], together[b], rtol=0, atol=1e-5)
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    torch.testing.assert_close(
        scores(predictor, HEADS[order], RELATIONS[order]), together[order], rtol=0, atol=1e-5
    )


@pairs
@pytest.mark.parametrize("rows", [0, 1])
def test_small_batches_train(decoder, encoder, rows):
    predictor = model(decoder, encoder).train()
    result = scores(predictor, HEADS[:rows], RELATIONS[:rows])
    result.sum().backward()
    assert result.shape == (rows, E)
    assert result.isfinite().all()
    triples = torch.stack([HEADS, RELATIONS, HEADS], 1)[:rows]
    mixed = predictor.mixed_query(predictor.encode(), triples, triples, torch.rand(rows))
    assert mixed.shape == (rows, predictor.decoder.entity_dim)
    assert predictor.score(predictor.encode(), mixed, HEADS[:rows, None]).shape == (rows, 1)


@decoders
def test_a_single_mixed_sample_scores_as_in_a_larger_batch(decoder):
    predictor = model(decoder).eval()
    vectors = predictor.encode()
    first = torch.stack([HEADS, RELATIONS, HEADS], 1)
    lam = torch.rand(len(first), dtype=torch.float64)
    together = predictor.mixed_query(vectors, first, first.flip(0), lam)
    alone = predictor.mixed_query(vectors, first[:1], first.flip(0)[:1], lam[:1])
    torch.testing.assert_close(alone, together[:1], rtol=0, atol=1e-9)


@pairs
def test_slope_of_mixing_is_the_theorems(decoder, encoder):
    """Method, theorem check: the slope of log σ(f) where τ = 1 - λ is 0."""
    predictor = model(decoder, encoder).eval()
    vectors = predictor.encode()
    first = torch.stack([HEADS, RELATIONS, HEADS.roll(1)], 1)
    second = torch.stack([HEADS.roll(2), RELATIONS.roll(3), HEADS.roll(1)], 1)

    def likelihood(tau):
        lam = torch.full((len(first),), 1 - tau, dtype=torch.float64)
        query = predictor.mixed_query(vectors, first, second, lam)
        tails = first[:, 2].unsqueeze(1)
        return functional.logsigmoid(predictor.score(vectors, query, tails)).squeeze(1)

    step = 1e-5
    slope = (likelihood(step) - likelihood(-step)) / (2 * step)
    torch.testing.assert_close(slope, closed_form(predictor, first, second), rtol=0, atol=1e-6)
    assert slope.abs().max() > 1e-3


def closed_form(predictor, first, second):
    """(1 - σ(f)) [∂f/∂x_h · (x_hj - x_hi) + ∂f/∂x_r · (x_rj - x_ri)]."""
    vectors, decoder = predictor.encode(), predictor.decoder
    head = vectors.entity(first[:, 0]).detach().requires_grad_()
    relation = vectors.relation(first[:, 1]).detach().requires_grad_()
    tail, bias = vectors.entity(first[:, 2]), predictor.bias[first[:, 2]]
    f = decoder.score(decoder.query(head, relation), tail.unsqueeze(1), bias.unsqueeze(1))
    by_head, by_relation = torch.autograd.grad(f.sum(), (head, relation))
    to_head = vectors.entity(second[:, 0]) - head
    to_relation = vectors.relation(second[:, 1]) - relation
    inner = (by_head * to_head).sum(1) + (by_relation * to_relation).sum(1)
    return (1 - torch.sigmoid(f.squeeze(1))) * inner


@decoders
def test_ids_never_enter_a_decoder(decoder):
    predictor = model(decoder).train()
    seen = []

    def watch(method):
        def inner(*args):
            seen.extend(arg for arg in args if arg is not None)
            return method(*args)

        return inner

    vectors = predictor.encode()
    for name in ("query", "score", "score_all"):
        setattr(predictor.decoder, name, watch(getattr(predictor.decoder, name)))
    predictor.score_all(vectors, predictor.query(vectors, HEADS, RELATIONS))
    predictor.score(vectors, vectors.entity(HEADS), HEADS.unsqueeze(1))
    integers = [arg for arg in seen if not arg.is_floating_point()]
    # TuckER is told which of the batch's relation *vectors* belongs to which query.
    assert all(int(rows.max()) < RELATIONS.unique().numel() for rows in integers)
    assert len(integers) == int(predictor.decoder.shares_relations)
    sizes = {size for p in predictor.decoder.parameters() for size in p.shape}
    assert not sizes & {E, R, 2 * R}


@decoders
def test_bilinear_decoders_say_so(decoder):
    predictor = model(decoder).eval()
    query = torch.randn(3, predictor.decoder.entity_dim, dtype=torch.float64)
    entities, bias = torch.randn(5, D, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    all_at_once = predictor.decoder.score_all(query, entities, bias)
    assert torch.allclose(all_at_once, query @ entities.T + bias) == predictor.decoder.is_bilinear


@decoders
def test_sharing_relations_is_the_same_computation(decoder):
    options = replace(OPTIONS, decoder=decoder, hidden_dropout1=0.0)
    built = build_decoder(options).double().eval()
    relation = torch.randn(3, built.relation_dim, dtype=torch.float64)
    head, rows = torch.randn(5, D, dtype=torch.float64), torch.tensor([0, 2, 2, 1, 0])
    shared = built.query(head, relation, rows)
    torch.testing.assert_close(shared, built.query(head, relation[rows]))


# Formulas written down on their own, from the papers.
def plain_conve(m, h, r, t):
    d = m.decoder
    norm0, norm1, norm2 = d.input_norm, d.convolution.norm, d.output_norm
    picture = torch.cat([h.view(1, 1, 4, 3), r.view(1, 1, 4, 3)], 2)

    def normed(x, norm, shape):
        centred = (x - norm.running_mean.view(shape)) / (norm.running_var.view(shape) + 1e-5).sqrt()
        return centred * norm.weight.view(shape) + norm.bias.view(shape)

    maps = functional.conv2d(normed(picture, norm0, (1, 1, 1, 1)), d.convolution.filters.weight)
    maps = functional.relu(normed(maps, norm1, (1, -1, 1, 1)))
    hidden = maps.reshape(-1) @ d.projection.weight.T + d.projection.bias
    return functional.relu(normed(hidden, norm2, (-1,))) @ t


def plain_tucker(m, h, r, t):
    d = m.decoder

    def normed(x, norm):
        return (x - norm.running_mean) / (norm.running_var + 1e-5).sqrt() * norm.weight + norm.bias

    return normed(torch.einsum("kij,k,i->j", d.core, r, normed(h, d.input_norm)), d.output_norm) @ t


def plain_complex(m, h, r, t):
    a, b, c = (torch.complex(v[: D // 2], v[D // 2 :]) for v in (h, r, t))
    return (a * b * c.conj()).sum().real


def plain_rotate(m, h, r, t):
    a, c = (torch.complex(v[: D // 2], v[D // 2 :]) for v in (h, t))
    return m.decoder.margin - (a * torch.polar(torch.ones_like(r), r) - c).abs().sum()


PLAIN = {
    "conve": plain_conve,
    "tucker": plain_tucker,
    "distmult": lambda m, h, r, t: (h * r * t).sum(),
    "complex": plain_complex,
    "rescal": lambda m, h, r, t: h @ r.view(D, D) @ t,
    "transe": lambda m, h, r, t: -(h + r - t).abs().sum(),
    "rotate": plain_rotate,
}


@decoders
def test_scores_are_the_papers(decoder):
    predictor = model(decoder).eval()
    x, r = predictor.encoder.entity_table, predictor.encoder.relation_table
    ours = scores(predictor, HEADS, RELATIONS) - predictor.bias
    for b, (head, relation) in enumerate(zip(HEADS, RELATIONS, strict=True)):
        for tail in range(E):
            expected = PLAIN[decoder](predictor, x[head], r[relation], x[tail])
            torch.testing.assert_close(ours[b, tail], expected, rtol=1e-9, atol=1e-9)


def test_transe_with_the_other_norm_is_the_papers():
    predictor = model("transe", norm=2).eval()
    x, r = predictor.encoder.entity_table, predictor.encoder.relation_table
    ours = scores(predictor, HEADS, RELATIONS) - predictor.bias
    moved = (x[HEADS] + r[RELATIONS]).unsqueeze(1) - x
    torch.testing.assert_close(ours, -moved.square().sum(2).sqrt())


@pytest.mark.parametrize(
    "decoder", [name for name in DECODERS if find("decoder", name).predicts_relations]
)
def test_relation_queries_score_every_relation(decoder):
    """Less what all relations of a head and a tail share, which softmax does not see."""
    predictor = model(decoder).eval()
    x, table = predictor.encoder.entity_table, predictor.encoder.relation_table[:R]
    tails = HEADS.roll(1)
    scorer = predictor.decoder
    found = scorer.relation_query(*scorer.relation_inputs(x[HEADS], x[tails])) @ table.T
    for b, (head, tail) in enumerate(zip(HEADS, tails, strict=True)):
        expected = torch.stack([PLAIN[decoder](predictor, x[head], r, x[tail]) for r in table])
        shift = (expected - found[b]).mean()
        torch.testing.assert_close(found[b] + shift, expected, rtol=1e-9, atol=1e-9)
        assert decoder == "tucker" or abs(shift.item()) < 1e-9
