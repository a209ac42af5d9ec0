"""Several processes train on the data of one; on the same rows they have its gradient."""

import dataclasses
from collections import Counter
from functools import cache
from unittest import mock

import numpy as np
import pytest
import torch

from dglkgmix.config import Config, RuntimeConfig
from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation import ranking
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.rank_table import rank_split
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE, Processes
from dglkgmix.sampling.negatives import TripleBatch
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.training.defaults import resolve
from dglkgmix.training.parallel import check_devices, check_inputs, joined
from tests.processes import together

from .conftest import SMALL, begin_loop

# Without batch norm and dropout gradients are sums over rows.
CASES = {
    "distmult 1-n mixup mean": ("strategy.name=mixup", "training.reduction=mean"),
    "transe 1-k mixup mean": (
        *("model.decoder=transe", "training.regime=1-k", "training.l2=0.01"),
        *("strategy.name=mixup", "training.reduction=mean"),
    ),
    "complex 1-n adjusted ce": (
        *("model.decoder=complex", "training.loss=ce", "training.n3=0.01"),
        "strategy.name=logit-adjustment",
    ),
    "distmult 1-k mixup ce": (
        *("strategy.name=mixup", "training.loss=ce", "training.regime=1-k"),
        "training.batch_size=1",  # a process has a single triple, and no sample or a few
    ),
    "distmult 1-k mixup mean, one draw": (
        *("strategy.name=mixup", "strategy.draws=1", "training.regime=1-k"),
        "training.reduction=mean",
    ),
    "distmult 1-n reweight ce": (
        *("strategy.name=reweight", "training.loss=ce", "strategy.threshold=2"),
    ),
    "distmult 1-n relations": ("training.relation_prediction=0.5", "training.reduction=mean"),
}
PLAIN = "model.input_dropout=0"
CONVE = (
    *("model.decoder=conve", "strategy.name=mixup"),
    *("swa.enabled=true", "swa.start=1", "swa.every=1"),
)


@cache
def kg():
    """24 entities, 44 training triples: 14 leaves a last batch of 1 query in 1-N."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.stack(
        [torch.randint(size, (60,), generator=generator) for size in (24, 2, 24)], 1
    ).unique(dim=0)
    rows = rows[torch.randperm(len(rows), generator=generator)]
    return KnowledgeGraph.from_arrays(rows[:44], rows[44:50], rows[50:], entities=24, relations=2)


def begin(processes, *overrides):
    settings = [*SMALL, "model.decoder=distmult", "training.batch_size=14", *overrides]
    config = resolve(apply_overrides(Config(), settings), kg())
    return begin_loop(kg(), config, processes=processes)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("regime", "rows"), [("1-n", 57), ("1-k", 88)])
def test_the_parts_of_an_epoch_are_the_data(regime, rows, size):
    loops = [begin(Processes(i, size), f"training.regime={regime}") for i in range(size)]
    parts = [list(loop.draw(3)) for loop in loops]
    queries = [
        Counter(map(tuple, torch.stack([batch.heads, batch.relations], 1).tolist()))
        for batch in (batch for part in parts for batch in part)
    ]
    seen = sum(queries, Counter())
    edges = torch.cat([batch.edges for part in parts for batch in part]).unique()
    assert len(edges) == kg().num_edges
    assert seen.total() == -(-rows // size) * size
    whole = Counter(map(tuple, kg().edges[:, :2].tolist()))
    if regime == "1-n":
        whole = Counter(set(whole))
    assert seen >= whole
    own = -(-14 // size)
    for part in parts:
        assert [len(batch) for batch in part][:-1] == [own] * (len(part) - 1)
    assert [len(loop) for loop in loops] == [len(part) for part in parts]
    for together_ in zip(*parts, strict=True):
        assert len({len(batch) for batch in together_}) == 1
    if regime == "1-k":
        same = parts[0][0].negatives == parts[1][0].negatives
        assert same.double().mean() < 0.3  # 1/24 is expected of independent draws


def gradients(processes):
    """Of the first and the last batch of an epoch of each case: its rows, losses and gradients."""
    torch.set_default_dtype(torch.float64)
    return {name: _gradients(begin(processes, PLAIN, *CASES[name])) for name in CASES}


def _gradients(loop):
    batches = list(loop.draw(1))
    found = []
    for batch in (batches[0], batches[-1]):
        given = {f.name: getattr(batch, f.name) for f in dataclasses.fields(batch)}
        columns = {name: value.numpy() for name, value in given.items() if value is not None}
        found.append((columns, *_losses(loop, batch)))
    return found


def _losses(loop, batch):
    """The figures and gradients of an epoch of this batch alone, after which no weight moves."""
    loop.draw = lambda _: iter([batch])
    loop.work.optimizer.param_groups[0]["lr"] = 0.0
    row = loop.epoch()
    figures = [row.loss, row.kg_loss, row.synthetic_loss, row.gradient_norm]
    figures += [row.positives, row.synthetic_samples]
    return figures, [p.grad.numpy().copy() for p in loop.work.model.parameters()]


def joint(loop, parts):
    """One batch of all parts' rows."""
    columns = {
        name: torch.from_numpy(np.concatenate([part[name] for part in parts])) for name in parts[0]
    }
    if "negatives" in columns:
        return TripleBatch(**columns)
    index = kg().train_index
    rows = index.locate(columns["heads"], columns["relations"])
    return QueryBatches(kg(), 99).batch(rows)


def test_two_processes_have_the_gradient_of_one_on_the_same_rows():
    several = together(2, gradients)
    torch.set_default_dtype(torch.float64)
    try:
        for name, overrides in CASES.items():
            alone = begin(ALONE, PLAIN, *overrides)
            alone.strategy.start_epoch(1, 5)
            for first, second in zip(*(found[name] for found in several), strict=True):
                expected = _losses(alone, joint(alone, [first[0], second[0]]))
                for _, figures, found in (first, second):
                    np.testing.assert_allclose(figures, expected[0], rtol=1e-12, err_msg=name)
                    for ours, theirs in zip(found, expected[1], strict=True):
                        np.testing.assert_allclose(ours, theirs, atol=1e-12, err_msg=name)
    finally:
        torch.set_default_dtype(torch.float32)


def trained(processes):
    """Two epochs with dropout, batch norm and weight averaging: history, weights and statistics."""
    loop = begin(processes, *CONVE)
    rows = [dataclasses.asdict(loop.epoch()) for _ in range(2)]
    weights = {
        f"{kind} {name}": value.numpy().tobytes()
        for kind, model in (("live", loop.work.model), ("mean", loop.work.averaging.model))
        for name, value in model.state_dict().items()
    }
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows], weights


@mock.patch.object(ranking, "RUN", 4)  # so that each process has a part of so few queries
def ranked(processes):
    """A rank table; the errors of a score that is not finite in one process, and of its seed."""
    config = resolve(apply_overrides(Config(), SMALL), kg())
    model = LinkPredictor.build(config.model, kg(), seed=3).eval()
    table = rank_split(ModelScorer(model), kg(), "test", processes=processes)
    if processes.index == processes.size - 1:
        model.encoder.entity_table.detach()[:] = torch.nan
    with pytest.raises(NumericError) as infinite:
        rank_split(ModelScorer(model), kg(), "test", processes=processes)
    check_inputs(kg(), config, processes)
    seed = RuntimeConfig(seed=5 + (processes.index == 1))
    try:
        check_inputs(kg(), dataclasses.replace(config, runtime=seed), processes)
    except ConfigError as error:
        return table, str(infinite.value), str(error)
    return table, str(infinite.value), ""


def everything(processes):
    return trained(processes), ranked(processes)


@pytest.fixture(scope="module")
def three():
    return together(3, everything)


def test_all_of_them_hold_the_same_bits(three):
    rows, weights = three[0][0]
    assert all(found[0] == (rows, weights) for found in three)
    assert rows[0]["positives"] >= 88
    assert rows[1]["loss"] < rows[0]["loss"]


def test_the_same_ranks_come_out(three):
    expected = ranked(ALONE)[0]
    for found in (found[1][0] for found in three):
        same, columns = found.table.drop_columns(["score"]), expected.table
        assert same.equals(columns.drop_columns(["score"]))
        np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5, atol=1e-6)


def test_a_score_that_is_not_finite_in_one_process_is_an_error_in_all(three):
    (said,) = {found[1][1] for found in three}
    assert "no rank can be told from scores that are not finite" in said


def test_processes_that_were_given_other_settings_are_refused(three):
    (said,) = {found[1][2] for found in three}
    assert said.startswith("the processes do not train on the same triples with the same")
    assert ranked(ALONE)[2] == ""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WORLD_SIZE": "4"},  # of another program: nobody to meet
        {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"},
    ],
)
def test_without_others_a_process_is_alone(environment):
    with joined(environment) as processes:
        assert processes is ALONE


def test_each_process_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    two = Processes(0, 2, neighbours=2)
    check_devices(torch.device("cpu"), Processes(0, 9, neighbours=9))
    check_devices(torch.device("cuda:1"), ALONE)
    check_devices(torch.device("cuda"), two)
    with pytest.raises(ConfigError, match="'cuda:1' is one GPU for 2 processes"):
        check_devices(torch.device("cuda:1"), two)
    with pytest.raises(ConfigError, match="3 processes on a machine with 2 GPUs"):
        check_devices(torch.device("cuda"), Processes(0, 3, neighbours=3))
