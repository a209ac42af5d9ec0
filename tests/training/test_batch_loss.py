"""The loss of a batch, from ids to one number, against plain formulas."""

import dataclasses
import itertools

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as binary_cross_entropy

from dglkgmix.config.classes import find
from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.losses.pointwise import Focus
from dglkgmix.losses.targets import Positives, Targets
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.sampling.negatives import TripleBatches
from dglkgmix.sampling.partners import Partners
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.sampling.seeds import generator
from dglkgmix.strategies import SyntheticBatch
from dglkgmix.training import relations
from dglkgmix.training.batch_loss import batch_loss
from dglkgmix.training.prepared import prepare
from tests.kernels import dense
from tests.settings import settled_model, settled_strategy, settled_training

E = 20
TARGETS = Targets.smoothed(0.1, "auto", E)


@pytest.fixture
def model(graph):
    """DistMult with a bias and no dropout: the same scores in train mode as by hand."""
    return build(graph, "distmult")


def build(graph, decoder, **options):
    given = {"bias": True, "input_dropout": 0.0, **options}
    made = LinkPredictor.build(settled_model(decoder, 8, **given), graph, seed=0)
    torch.nn.init.normal_(made.bias, generator=torch.Generator().manual_seed(1))
    return made.double().train()


def setting(graph, training, **options):
    config = settled_strategy(**{"threshold": 2, **options})
    strategy = find("strategy", config.name)(graph, config, training)
    strategy.start_epoch(1, 0)
    return strategy


def first_batch(graph, training):
    batches = QueryBatches(graph, 9) if training.regime == "1-n" else TripleBatches(graph, 9, 4)
    batch = next(iter(batches.epoch(generator(0))))
    if training.regime == "1-k":
        batch.mask[::2, 1] = False  # as where every draw is a training triple; none is here
    return batch


def compute(model, graph, training, **options):
    """The terms, the batch and the strategy."""
    strategy, batch = setting(graph, training, **options), first_batch(graph, training)
    return batch_loss(model, model.encode(), batch, strategy, training), batch, strategy


def vectors_of(model, triples):
    entities, relations = model.encoder.entity_table, model.encoder.relation_table
    return entities[triples[:, 0]], relations[triples[:, 1]], entities[triples[:, 2]]


def all_scores(model, heads, relations):
    query = model.encoder.entity_table[heads] * model.encoder.relation_table[relations]
    return query @ model.encoder.entity_table.T + model.bias


def one_to_k(batch):
    """Candidates (B, 5), the tail first, and whether each counts."""
    mask = torch.cat([torch.ones(len(batch.tails), 1, dtype=torch.bool), batch.mask], 1)
    return torch.cat([batch.tails.unsqueeze(1), batch.negatives], 1), mask


def assert_same_gradients(terms, expected, model):
    dense.assert_same(terms.loss, expected, list(model.parameters()))


@pytest.mark.parametrize("decoder", ["distmult", "transe"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("loss", ["bce", "ce"])
@pytest.mark.parametrize("name", ["standard", "oversample", "reweight", "focal"])
def test_one_to_n(graph, name, loss, reduction, decoder):
    """Weights multiply terms, not the divisor; those of re-weighting are scaled to mean 1."""
    model = build(graph, decoder)
    training = settled_training(loss=loss, reduction=reduction)
    terms, batch, strategy = compute(model, graph, training, name=name, threshold=3)
    weights = strategy.positive_weights(batch.edges)
    assert (weights is None) == (name in ("standard", "focal"))
    positives = Positives(batch.rows, batch.tails, weights if weights is None else weights.double())
    vectors, focus = model.encode(), Focus(2.0) if name == "focal" else None
    scores = model.score_all(vectors, model.query(vectors, batch.heads, batch.relations))
    if loss == "bce":
        count, expected = 9 * E, dense.bce(scores, positives, TARGETS, focus)
    else:
        count, expected = len(batch.tails), dense.ce(scores, positives, 0.1, focus)
    if name == "reweight":
        expected = expected * count / (count + (positives.weights - 1).sum())
    assert_same_gradients(terms, expected / (count if reduction == "mean" else 1), model)


class TestOneToK:
    @pytest.mark.parametrize("reduction", ["sum", "mean"])
    @pytest.mark.parametrize("loss", ["bce", "ce"])
    def test_plain(self, model, graph, loss, reduction):
        options = {"loss": loss, "label_smoothing": 0.0 if loss == "ce" else 0.1}
        training = settled_training(regime="1-k", reduction=reduction, **options)
        terms, batch, _ = compute(model, graph, training)
        ids, mask = one_to_k(batch)
        scores = all_scores(model, batch.heads, batch.relations).gather(1, ids)
        if loss == "bce":
            target = torch.full((9, 5), TARGETS.negative, dtype=torch.double)
            target[:, 0] = TARGETS.positive
            expected = binary_cross_entropy(scores[mask], target[mask], reduction=reduction)
        else:
            logs = scores.masked_fill(~mask, -torch.inf).log_softmax(1)[:, 0]
            expected = -(logs.sum() if reduction == "sum" else logs.mean())
        assert_same_gradients(terms, expected, model)

    def test_adjusted_scores_of_another_loss_are_refused(self, model, graph):
        with pytest.raises(ConfigError, match="use loss 'ce'"):
            compute(model, graph, settled_training(), name="logit-adjustment")

    def test_logit_adjustment(self, model, graph):
        training = settled_training(regime="1-k", loss="ce", label_smoothing=0.0)
        terms, batch, _ = compute(model, graph, training, name="logit-adjustment", tau=0.5)
        ids, mask = one_to_k(batch)
        counts = graph.degrees.tail_relation(ids, batch.relations.unsqueeze(1).expand_as(ids))
        scores = all_scores(model, batch.heads, batch.relations).gather(1, ids)
        scores = scores + 0.5 * torch.log(counts.double() + 1)
        logs = scores.masked_fill(~mask, -torch.inf).log_softmax(1)[:, 0]
        torch.testing.assert_close(terms.loss, -logs.sum(), rtol=1e-6, atol=0)


class TestMixup:
    def mixed(self, model, strategy, batch, *, bias):
        """Scores (S, E) of the mixed queries, by the method's formulas."""
        samples = strategy.synthetic(batch.edges)
        lam = samples.lam.double().unsqueeze(1)
        h1, r1, _ = vectors_of(model, samples.first)
        h2, r2, _ = vectors_of(model, samples.second)
        query = (lam * h1 + (1 - lam) * h2) * (lam * r1 + (1 - lam) * r2)
        return query @ model.encoder.entity_table.T + (model.bias if bias else 0)

    @pytest.mark.parametrize("regime", ["1-n", "1-k"])
    @pytest.mark.parametrize("reduction", ["sum", "mean"])
    @pytest.mark.parametrize("bias", [False, True])
    def test_one_positive_term_each(self, model, graph, regime, reduction, bias):
        training = settled_training(regime=regime, reduction=reduction)
        options = {"name": "mixup", "synthetic_weight": 0.3, "synthetic_bias": bias}
        terms, batch, strategy = compute(model, graph, training, **options)
        plain, _, _ = compute(model, graph, training)
        samples = strategy.synthetic(batch.edges)
        tails = samples.first[:, 2].unsqueeze(1)
        scores = self.mixed(model, strategy, batch, bias=bias).gather(1, tails)
        target = torch.full_like(scores, TARGETS.positive)
        expected = binary_cross_entropy(scores, target, reduction=reduction)
        torch.testing.assert_close(terms.synthetic_loss, expected.detach())
        torch.testing.assert_close(terms.kg_loss, plain.loss.detach())
        assert_same_gradients(terms, plain.loss + 0.3 * expected, model)
        assert terms.synthetic_samples == len(tails) > 0

    def test_softmax_over_all_entities_in_1_n(self, model, graph):
        terms, batch, strategy = compute(model, graph, settled_training(loss="ce"), name="mixup")
        scores = self.mixed(model, strategy, batch, bias=False)
        tails = strategy.synthetic(batch.edges).first[:, 2]
        expected = dense.ce(scores, Positives(torch.arange(len(tails)), tails), 0.1)
        torch.testing.assert_close(terms.synthetic_loss, expected.detach())

    def test_softmax_over_the_triples_negatives_in_1_k(self, model, graph):
        training = settled_training(regime="1-k", loss="ce", label_smoothing=0.0)
        terms, batch, strategy = compute(model, graph, training, name="mixup")
        positions = strategy.synthetic(batch.edges).positions
        ids, mask = (part[positions] for part in one_to_k(batch))
        scores = self.mixed(model, strategy, batch, bias=False).gather(1, ids)
        expected = -scores.masked_fill(~mask, -torch.inf).log_softmax(1)[:, 0].sum()
        torch.testing.assert_close(terms.synthetic_loss, expected.detach())

    def test_running_statistics_describe_real_queries_alone(self, graph):
        runs = []
        for name in ("standard", "mixup"):
            model = build(graph, "conve", filters=2, feature_dropout=0.0, hidden_dropout=0.0)
            compute(model, graph, settled_training(), name=name)
            runs.append({key: value.clone() for key, value in model.named_buffers()})
        assert runs[0].keys() == runs[1].keys()
        assert len(runs[0]) > 0
        for key, value in runs[0].items():
            assert torch.equal(value, runs[1][key]), key

    @pytest.mark.parametrize("regime", ["1-n", "1-k"])
    def test_nothing_to_mix(self, model, graph, regime):
        """Case 9."""
        training = settled_training(regime=regime)
        terms, _, _ = compute(model, graph, training, name="mixup", threshold=0)
        plain, _, _ = compute(model, graph, training)
        assert float(terms.synthetic_loss) == 0.0
        assert terms.synthetic_samples == 0
        assert torch.equal(terms.loss, plain.loss)

    @pytest.mark.parametrize("decoder", ["conve", "tucker"])
    def test_a_single_synthetic_sample(self, graph, decoder):
        """Case 11: no dimension is lost, and its pass uses the running statistics.

        The pass of the real queries moves these before the gradient is computed.
        """
        model = build(graph, decoder, **({"filters": 2} if decoder == "conve" else {}))
        training = settled_training(regime="1-k")
        strategy = setting(graph, training, name="mixup", partners=1)
        item = prepare(first_batch(graph, training), strategy, training, E)
        columns = ("first", "second", "lam", "positions", "partners")
        one = SyntheticBatch(*(getattr(item.synthetic, name)[:1] for name in columns))
        item = dataclasses.replace(item, synthetic=one)
        terms = batch_loss(model, model.encode(), item, strategy, training)
        assert terms.loss.shape == ()
        assert terms.synthetic_samples == 1
        terms.loss.backward()
        assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize(
    ("regime", "loss", "reduction"),  # every pair of values
    [("1-n", "bce", "sum"), ("1-n", "ce", "mean"), ("1-k", "bce", "mean"), ("1-k", "ce", "sum")],
)
@pytest.mark.parametrize(
    ("partners", "draws", "share"), [(3, 1, 1.0), (3, 2, 1.0), (2, 1, 1.0), (3, "all", 0.5)]
)
def test_the_mean_over_all_draws_is_the_loss_of_all_partners(
    regime, loss, reduction, partners, draws, share
):
    """Four triples end in entity 0, so each has three candidates: every draw is enumerated.

    The other triples have one candidate or none. With k = 2 all pairs of partners are, too, and
    with a share of one half all 256 sets of triples.
    """
    rows = [[1, 0, 0], [2, 0, 0], [3, 0, 0], [4, 1, 0], [1, 1, 2]]
    kg = KnowledgeGraph.from_arrays(rows, entities=5, relations=2)
    model = build(kg, "distmult")
    training = settled_training(regime=regime, loss=loss, reduction=reduction)
    batches = QueryBatches(kg, 99) if regime == "1-n" else TripleBatches(kg, 99, 3)
    (batch,) = batches.epoch(generator(0))
    used = list(model.parameters())

    def mean(count, share=1.0):
        options = {"threshold": 4, "partners": partners, "draws": count, "share": share}
        strategy = setting(kg, training, name="mixup", fixed_lambda=0.3, **options)
        number, found = (partners if count == "all" else count), []
        mine = [itertools.combinations(set(range(4)) - {edge}, number) for edge in range(4)]
        mine += [[{other}] for other in (6, 9, 4, 5)]
        if share < 1:
            mine = [[*every, ()] for every in mine]
        for chosen in itertools.product(*mine):
            owners = zip((*range(7), 9), chosen, strict=True)
            pairs = [(edge, p) for edge, own in owners for p in own]
            edges, ends = torch.tensor(sorted(pairs), dtype=torch.long).view(-1, 2).T
            indptr = torch.tensor([0, *edges.bincount(minlength=10).cumsum(0)])
            drawn = Partners(edges, ends, indptr)
            strategy._sampler.draw = lambda _, drawn=drawn: drawn
            strategy.start_epoch(1, 0)
            terms = batch_loss(model, model.encode(), batch, strategy, training)
            found.append([terms.synthetic_loss, *torch.autograd.grad(terms.loss, used)])
        return [torch.stack(part).mean(0) for part in zip(*found, strict=True)]

    torch.testing.assert_close(mean(draws, share), mean("all"))


@pytest.mark.parametrize("decoder", ["distmult", "transe"])
def test_the_mean_over_rivals_is_nearly_the_softmax_over_all(graph, decoder):
    """Six of the thirteen entities that are no synthetic tails of the batch stand for all of these.

    Within 1 % of the loss and 4 % of the gradient's norm, as the logarithm of a mean is above the
    mean of logarithms. The gradient of one draw is off by 25 to 30 %.
    """
    model, training = build(graph, decoder, init_scale=0.3), settled_training(loss="ce")
    model.bias.data.mul_(0.3)
    batch, used = first_batch(graph, training), list(model.parameters())

    def figures(rivals, epochs):
        options = {"name": "mixup", "partners": 9, "fixed_lambda": 0.3, "synthetic_bias": True}
        strategy, found = setting(graph, training, rivals=rivals, **options), []
        for epoch in range(epochs):
            strategy.start_epoch(epoch, 0)
            terms = batch_loss(model, model.encode(), batch, strategy, training)
            mixed = torch.autograd.grad(terms.loss, used)
            found.append(torch.cat([terms.synthetic_loss[None], *(g.flatten() for g in mixed)]))
        return torch.stack(found)

    (exact,), drawn = figures("all", 1), figures(6, 150)
    assert torch.equal(figures(20, 1)[0], exact)
    mean = drawn.mean(0)
    assert float(mean[0] / exact[0]) == pytest.approx(1, abs=0.01)
    assert float((mean - exact)[1:].norm() / exact[1:].norm()) < 0.04
    assert float((drawn[0] - exact)[1:].norm() / exact[1:].norm()) > 0.2


BY_QUERY = [
    ({"loss": "bce", "reduction": "mean"}, {}),
    ({"loss": "ce"}, {}),
    ({"loss": "bce", "n3": 0.1, "l2": 0.2, "relation_prediction": 0.3}, {}),
    ({"loss": "bce"}, {"name": "reweight"}),
    ({"loss": "ce"}, {"name": "focal"}),
    ({"loss": "ce"}, {"name": "logit-adjustment"}),
    ({"loss": "ce"}, {"name": "mixup", "partners": 3, "draws": 1}),
    ({"loss": "bce"}, {"name": "mixup"}),
]


@pytest.mark.parametrize(("training", "options"), BY_QUERY)
def test_by_query_is_the_loss_of_its_triples(model, training, options, monkeypatch):
    """The same triples and negatives, each triple encoded by itself."""
    chance = torch.Generator().manual_seed(0)
    columns = [torch.randint(size, (60,), generator=chance) for size in (4, 2, E)]
    kg = KnowledgeGraph.from_arrays(torch.stack(columns, 1), entities=E, relations=2)
    settings = settled_training(regime="1-k", **training)
    strategy = setting(kg, settings, **options)
    batch = next(iter(TripleBatches(kg, 20, 4, by_query=True).epoch(generator(0))))
    assert len(batch.heads) < len(batch)
    queries = {
        "heads": batch.heads[batch.rows],
        "relations": batch.relations[batch.rows],
        "rows": None,
    }
    triples = dataclasses.replace(batch, **queries)
    expected = batch_loss(model, model.encode(), triples, strategy, settings)
    encoded, query = [], model.query
    monkeypatch.setattr(model, "query", lambda v, h, r: encoded.append((h, r)) or query(v, h, r))
    terms = batch_loss(model, model.encode(), batch, strategy, settings)
    assert_same_gradients(terms, expected.loss, model)
    ((heads, relations),) = encoded
    asked = set(zip(heads.tolist(), relations.tolist(), strict=True))
    assert len(asked) == len(heads) < terms.positives == len(batch)
    assert terms.synthetic_samples == expected.synthetic_samples


def test_rows_are_added_to_a_gradient_that_is_there(model, graph, monkeypatch):
    """None of its readers makes a table of zeros: that of all entities goes back first."""
    training = settled_training(loss="ce", n3=0.5, relation_prediction=0.5)
    terms, _, _ = compute(model, graph, training, name="mixup")
    monkeypatch.setattr(torch, "zeros_like", None)
    terms.loss.backward()


class TestPenalties:
    @pytest.mark.parametrize("regime", ["1-n", "1-k"])
    @pytest.mark.parametrize("reduction", ["sum", "mean"])
    def test_on_every_positives_vectors(self, model, graph, regime, reduction):
        training = settled_training(regime=regime, reduction=reduction)
        plain, batch, _ = compute(model, graph, training)
        used = torch.cat(vectors_of(model, graph.edges[batch.edges]), 1)
        divisor = len(batch.edges) if reduction == "mean" else 1
        for name, power in (("n3", 3), ("l2", 2)):
            punished = dataclasses.replace(training, **{name: 0.7})
            terms, _, _ = compute(model, graph, punished)
            penalty = 0.7 * used.abs().pow(power).sum() / divisor
            assert_same_gradients(terms, plain.loss + penalty, model)
            torch.testing.assert_close(terms.kg_loss, plain.kg_loss)

    @pytest.mark.parametrize("regime", ["1-n", "1-k"])
    def test_each_vector_is_looked_up_once(self, model, graph, regime, monkeypatch):
        rows, moduli = [], model.decoder.squared_moduli
        monkeypatch.setattr(model.decoder, "squared_moduli", lambda v: rows.append(v) or moduli(v))
        _, batch, _ = compute(model, graph, settled_training(regime=regime, n3=0.5))
        entities = torch.cat([batch.heads, batch.tails])
        assert [len(v) for v in rows] == [len(set(x.tolist())) for x in (entities, batch.relations)]
        assert len(rows[0]) < len(entities)


def test_a_batch_may_be_prepared_ahead(model, graph):
    training = settled_training(reduction="mean")
    terms, batch, strategy = compute(model, graph, training, name="mixup")
    item = prepare(batch, strategy, training, E)
    again = batch_loss(model, model.encode(), item, strategy, training)
    assert torch.equal(terms.loss, again.loss)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("loss", ["bce", "ce"])
@pytest.mark.parametrize("regime", ["1-n", "1-k"])
@pytest.mark.parametrize(("among", "count"), [("original", 2), ("all", 4)])
def test_relation_prediction_is_added_for_positives_of_the_relations_asked(
    model, graph, regime, loss, reduction, among, count
):
    """Two relations, whose reciprocal ones are asked about and among the rivals with "all"."""
    plain = settled_training(regime=regime, loss=loss, reduction=reduction)
    terms, batch, strategy = compute(model, graph, plain)
    with_it = dataclasses.replace(plain, relation_prediction=0.3, predicted_relations=among)
    found = batch_loss(model, model.encode(), batch, strategy, with_it)
    positives = graph.edges[batch.edges]
    asked = positives[positives[:, 1] < count]
    assert len(asked) > 0
    assert (len(asked) == len(positives)) == (among == "all")
    h, _, t = vectors_of(model, asked)
    scores = (h * t) @ model.encoder.relation_table[:count].T
    own = torch.log_softmax(scores, 1)[range(len(asked)), asked[:, 1]]
    divisor = len(positives) if reduction == "mean" else 1
    expected = terms.loss - 0.3 * own.sum() / divisor
    assert_same_gradients(found, expected, model)
    assert float(found.kg_loss) == float(terms.kg_loss)


def test_relations_asked_in_blocks_have_the_gradient_of_one_block(graph, monkeypatch):
    """Blocks are computed again after the real queries have moved TuckER's statistics."""
    training = settled_training(relation_prediction=1.0)
    gradients = []
    for block in (2**22, 1):
        monkeypatch.setattr(relations, "_BLOCK", block)
        model = build(graph, "tucker", hidden_dropout1=0.0, hidden_dropout2=0.0)
        terms, _, _ = compute(model, graph, training)
        terms.loss.backward()
        gradients.append([p.grad for p in model.parameters()])
    torch.testing.assert_close(gradients[1], gradients[0])
