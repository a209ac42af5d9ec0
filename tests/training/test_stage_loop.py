import math

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.runs.run import Run
from dglkgmix.training import stage_loop
from dglkgmix.training.defaults import resolve
from dglkgmix.training.launch import train
from dglkgmix.training.stage_loop import goal_weights, reciprocal_ranks

from .conftest import begin_loop, settings


def begin(graph, *overrides, seed=5):
    return begin_loop(graph, resolve(settings(*overrides), graph), seed=seed)


def test_a_queries_remainder_and_batches_of_one_are_trained_on(graph, tmp_path):
    queries = len(graph.train_index.heads)
    for size in (1, queries - 1, queries):
        config = settings(f"training.batch_size={size}", "training.epochs=1")
        train(graph, config, tmp_path / str(size))
        (row,) = Run.open(tmp_path / str(size)).history
        assert row["batches"] == math.ceil(queries / size)
        assert row["positives"] == graph.num_edges


REGIMES = {
    "1-n": ("training.regime=1-n",),
    "1-k": ("training.regime=1-k",),
    "1-k by query": ("training.regime=1-k", "training.group_queries=true"),
}


@pytest.mark.parametrize("regime", REGIMES)
def test_the_number_of_batches_is_known_before_they_are_drawn(graph, regime):
    """Over-sampling adds triples in 1-K; a bar and an estimate count on it."""
    loop = begin(graph, *REGIMES[regime], "strategy.name=oversample", "training.batch_size=5")
    assert loop.epoch().batches == len(loop)


@pytest.mark.parametrize(("clip", "measured"), [(0.0, [0, 10]), (1.0, list(range(12)))])
def test_the_gradients_norm_is_taken_where_it_is_needed(graph, monkeypatch, clip, measured):
    """Twelve batches; without clipping every tenth, and the epoch's figures are of these."""
    size = math.ceil(len(graph.train_index.heads) / 12)
    loop = begin(graph, f"training.batch_size={size}", f"training.clip={clip}")
    assert len(loop) == 12
    norms, take = [], stage_loop.clip_gradients

    def noted(parameters, most):
        norms.append(float(take(parameters, most)))
        return torch.tensor(norms[-1])

    monkeypatch.setattr(stage_loop, "clip_gradients", noted)
    row = loop.epoch()
    assert len(norms) == len(measured)
    assert row.gradient_norm_max == pytest.approx(max(norms))
    weights = [10, 2] if clip == 0 else [1] * 12
    mean = sum(w * n for w, n in zip(weights, norms, strict=True)) / 12
    assert row.gradient_norm == pytest.approx(mean)


def test_validation_follows_its_schedule(graph):
    loop = begin(graph, "training.validate_every=2")
    validated = [loop.epoch().valid_mrr is not None for _ in range(5)]
    assert validated == [False, True, False, True, False]


def test_what_an_epoch_draws_follows_from_its_number_alone(graph):
    """A loop that starts at epoch 3 draws what one that came there draws."""
    for overrides in ((), ("training.regime=1-k", "strategy.name=mixup", "pretrain.enabled=false")):
        first, second = begin(graph, *overrides), begin(graph, *overrides)
        list(first.draw(1))
        list(first.draw(2))
        draws = [[batch.heads for batch in loop.draw(3)] for loop in (first, second)]
        assert all(torch.equal(a, b) for a, b in zip(*draws, strict=True))
        edges = torch.arange(graph.num_edges)
        samples = [loop.strategy.synthetic(edges) for loop in (first, second)]
        assert samples[0] is samples[1] or torch.equal(samples[0].lam, samples[1].lam)
        other = [batch.heads for batch in begin(graph, *overrides, seed=6).draw(3)]
        assert not all(torch.equal(a, b) for a, b in zip(draws[0], other, strict=True))


@pytest.mark.parametrize("regime", REGIMES)
def test_batch_norm_is_refreshed_over_everything_that_is_trained_on(graph, regime):
    loop = begin(graph, *REGIMES[regime])
    queries = torch.cat(list(loop._training_queries()), 1)
    found = sorted(map(tuple, queries.T.tolist()))
    triples = [tuple(row[:2]) for row in graph.edges.tolist()]
    assert found == sorted(triples if regime == "1-k" else set(triples))
    assert queries.T.tolist() != sorted(queries.T.tolist())


def test_ranks_that_steer_are_filtered_by_train_and_valid(graph):
    """Against ranks by hand, from the scores of a model that is asked one query at a time.

    Test triples, which answer the same queries here, stay among the rivals.
    """
    test = torch.cat([graph.valid[:, :2], (graph.valid[:, 2:] + 7) % 20], 1)
    graph = KnowledgeGraph.from_arrays(graph.train, graph.valid, test, entities=20, relations=2)
    rows = torch.cat([graph.train, graph.valid])
    seen = torch.cat([rows, graph.reciprocate(rows, 2)])
    model = LinkPredictor.build(resolve(settings(), graph).model, graph, seed=1).eval()
    queries = evaluation_queries(graph, "valid")
    reciprocal = []
    with torch.no_grad():
        vectors = model.encode()
        for head, relation, answer in zip(
            queries.heads, queries.relations, queries.answers, strict=True
        ):
            scores = model.score_all(vectors, model.query(vectors, head[None], relation[None]))[0]
            rivals = torch.ones(20, dtype=torch.bool)
            rivals[seen[(seen[:, 0] == head) & (seen[:, 1] == relation), 2]] = False
            above = int((scores[rivals] > scores[answer]).sum())
            reciprocal.append(1 / (1 + above))
    found = reciprocal_ranks(model, graph, queries, 64)
    assert found.tolist() == reciprocal


def test_bf16_trains_close_to_fp32(graph):
    losses = []
    for precision in ("fp32", "bf16"):
        loop = begin(graph, f"runtime.precision={precision}")
        torch.manual_seed(0)
        losses.append(loop.epoch().loss)
    assert losses[0] != losses[1]
    assert math.isclose(losses[0], losses[1], rel_tol=0.02)


def test_a_goal_is_the_mean_over_the_queries_of_its_bins():
    """Tails 0, 1, 2 have degrees 10, 1, 0; their head 13 has none, three times."""
    train = [(i, 0, 0) for i in range(3, 13)] + [(3, 0, 1)]
    valid = [(13, 0, 0), (13, 0, 1), (13, 0, 2)]
    kg = KnowledgeGraph.from_arrays(train, valid, None, entities=14, relations=1)
    queries = evaluation_queries(kg, "valid")
    reciprocal = torch.tensor([1.0, 0.5, 0.25, 0.2, 0.1, 0.05], dtype=torch.float64)

    def goal(select):
        return float(reciprocal @ goal_weights(select, kg, queries))

    zero = (0.25 + 0.2 + 0.1 + 0.05) / 4
    assert goal("medium") == pytest.approx(1.0)
    assert goal("low") == pytest.approx(0.5)
    assert goal("zero") == pytest.approx(zero)
    assert goal("zero=3,low=1") == pytest.approx(0.75 * zero + 0.25 * 0.5)
    assert goal("mrr") == pytest.approx(float(reciprocal.mean()))
    with pytest.raises(ConfigError, match="no validation query falls into 'high'"):
        goal("high,low")
