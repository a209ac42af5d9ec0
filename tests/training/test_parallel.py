"""Two and three processes against one: the same batches, the same weights, the same ranks."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from dglkgmix.config import Config, RuntimeConfig
from dglkgmix.config.classes import find
from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation import ranking
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.rank_split import rank_split
from dglkgmix.evaluation.rank_table import RankTable
from dglkgmix.kernels.batch_norm import share_statistics
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.sources import load
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.sampling.negatives import TripleBatches
from dglkgmix.sampling.queries import QueryBatches
from dglkgmix.training.defaults import resolve
from dglkgmix.training.parallel import check_devices, check_inputs, job, joined
from dglkgmix.training.prepared import PreparedBatch, prepare
from dglkgmix.training.progress import Progress
from dglkgmix.training.shares import share
from dglkgmix.training.stage_loop import StageLoop
from dglkgmix.training.stage_state import StageState
from dglkgmix.training.stages import MAIN, stages
from dglkgmix.world import ALONE, World
from tests.processes import together

from .conftest import SMALL

PLAIN = (
    *(f"model.{name}_dropout=0" for name in ("input", "feature", "hidden", "encoder")),
    "model.hidden_dropout1=0",
    "model.hidden_dropout2=0",
    "training.batch_size=14",  # the last batch has a single query or few triples
    "swa.enabled=true",
    "swa.start=1",
    "swa.every=1",
)
CASES = {
    "conve 1-n": ("training.n3=0.01",),
    "conve 1-n mixup mean": ("strategy.name=mixup", "training.reduction=mean"),
    "conve 1-k mixup": ("strategy.name=mixup", "training.regime=1-k", "training.l2=0.01"),
    "conve 1-k by query, mixup mean": (
        "strategy.name=mixup",
        "strategy.draws=1",
        "training.regime=1-k",
        "training.group_queries=true",
        "training.reduction=mean",
    ),
    "conve 1-n reweight mean": ("strategy.name=reweight", "training.reduction=mean"),
    "tucker 1-k reweight": (
        "model.decoder=tucker",
        "strategy.name=reweight",
        *["training.regime=1-k"],
    ),
    "tucker 1-n mixup ce": ("model.decoder=tucker", "strategy.name=mixup", "training.loss=ce"),
    "distmult 1-k mixup ce mean": (
        "model.decoder=distmult",
        "strategy.name=mixup",
        "training.loss=ce",
        "training.regime=1-k",
        "training.reduction=mean",
    ),
    "transe 1-n oversample mean": (
        "model.decoder=transe",
        "strategy.name=oversample",
        "training.reduction=mean",
    ),
    "rgcn 1-n focal": ("model.encoder=rgcn", "model.decoder=distmult", "strategy.name=focal"),
    "distmult 1-k, one process without a triple": (
        "model.decoder=distmult",
        "training.regime=1-k",
        "training.negatives=1",
        "training.batch_size=1",
    ),
    "complex 1-n adjusted": (
        "model.decoder=complex",
        "strategy.name=logit-adjustment",
        "training.loss=ce",
    ),
}
SOME = ("conve 1-k mixup", "conve 1-n reweight mean", "tucker 1-n mixup ce")


@cache
def kg() -> KnowledgeGraph:
    """24 entities, 44 training triples: 14 leaves a last batch of 1 query in 1-N."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.stack(
        [torch.randint(size, (60,), generator=generator) for size in (24, 2, 24)], 1
    ).unique(dim=0)
    rows = rows[torch.randperm(len(rows), generator=generator)]
    return KnowledgeGraph.from_arrays(rows[:44], rows[44:50], rows[50:], entities=24, relations=2)


def begin(world: World, *overrides: str) -> StageLoop:
    config = resolve(apply_overrides(Config(), [*SMALL, *overrides]), kg())
    (stage,) = (stage for stage in stages(config) if stage.name == MAIN)
    model = LinkPredictor.build(stage.model, kg(), seed=0)
    share_statistics(model, world)
    work = StageState(stage, model)
    return StageLoop(kg(), work, config.runtime, seed=5, progress=Progress(), world=world)


def trained(world: World, cases: tuple[str, ...]) -> dict[str, Any]:
    """Two epochs of each case in float64, where rounding leaves what Adam makes of it small."""
    torch.set_default_dtype(torch.float64)
    try:
        return {name: _trained(begin(world, *PLAIN, *CASES[name])) for name in cases}
    finally:
        torch.set_default_dtype(torch.float32)


def _trained(loop: StageLoop) -> dict[str, Any]:
    rows = [dataclasses.asdict(loop.epoch()) for _ in range(2)]
    weights = {
        f"{kind}.{name}": value.numpy().copy()
        for kind, model in (("live", loop.work.model), ("mean", loop.work.averaging.model))
        for name, value in model.state_dict().items()
    }
    return {"rows": [{k: v for k, v in row.items() if k != "seconds"} for row in rows], **weights}


def drawn(world: World) -> dict[str, list[list[tuple[Any, ...]]]]:
    """What this process trains on in an epoch of mixup, batch by batch."""
    found = {}
    for regime in ("1-n", "1-k"):
        loop = begin(world, "strategy.name=mixup", f"training.regime={regime}", *PLAIN)
        batches = []
        for batch in loop._draw(3):
            item = prepare(batch, loop.strategy, loop.work.stage.training, 24)
            batches.append(_terms(share(item, world)))
        found[regime] = batches
    return found


def _terms(item: PreparedBatch) -> list[tuple[Any, ...]]:
    batch = item.batch
    terms: list[tuple[Any, ...]] = [("counts", *dataclasses.astuple(item.counts))]
    terms += [("query", *pair) for pair in torch.stack([batch.heads, batch.relations], 1).tolist()]
    terms += [("edge", edge) for edge in batch.edges.tolist()]
    if hasattr(batch, "negatives"):
        terms += [("negatives", *row) for row in batch.negatives.tolist()]
    if item.synthetic is not None:
        columns = (item.synthetic.first, item.synthetic.partners, item.synthetic.lam)
        samples = zip(*(column.tolist() for column in columns), strict=True)
        terms += [("sample", *first, partner, lam) for first, partner, lam in samples]
    return terms


@mock.patch.object(ranking, "RUN", 4)  # so that each process has a part of so few queries
def ranked(world: World) -> tuple[RankTable, str, str]:
    """A rank table; what is said of a score that is not finite in one process, and of its seed."""
    config = resolve(apply_overrides(Config(), SMALL), kg())
    model = LinkPredictor.build(config.model, kg(), seed=3).eval()
    table = rank_split(ModelScorer(model), kg(), "test", world=world)
    if world.index == world.size - 1:
        model.encoder.entity_table.detach()[:] = torch.nan
    try:
        rank_split(ModelScorer(model), kg(), "test", world=world)
    except NumericError as error:
        infinite = str(error)
    else:
        infinite = ""
    check_inputs(kg(), config, world)
    seed = RuntimeConfig(seed=5 + (world.index == 1))
    try:
        check_inputs(kg(), dataclasses.replace(config, runtime=seed), world)
    except ConfigError as error:
        return table, infinite, str(error)
    return table, infinite, ""


def everything(world: World, cases: tuple[str, ...]) -> tuple[Any, ...]:
    return trained(world, cases), drawn(world), ranked(world)


@pytest.fixture(scope="module")
def alone() -> tuple[Any, ...]:
    return everything(ALONE, tuple(CASES))


@pytest.fixture(scope="module", params=[2, 3])
def several(request: pytest.FixtureRequest) -> list[tuple[Any, ...]]:
    return together(request.param, everything, SOME if request.param == 3 else tuple(CASES))


def test_without_dropout_they_train_what_one_process_trains(
    alone: tuple[Any, ...], several: list[tuple[Any, ...]]
) -> None:
    for case, result in ((case, found[0][case]) for found in several for case in found[0]):
        expected = alone[0][case]
        for before, after in zip(expected["rows"], result["rows"], strict=True):
            assert counts(after) == counts(before), case
            for name in ("loss", "kg_loss", "synthetic_loss", "gradient_norm", "valid_mrr"):
                assert after[name] == pytest.approx(before[name], rel=1e-9), f"{case}: {name}"
        assert result.keys() == expected.keys()
        for name in expected.keys() - {"rows"}:
            np.testing.assert_allclose(
                result[name], expected[name], rtol=1e-6, atol=1e-7, err_msg=f"{case}: {name}"
            )


def counts(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not isinstance(value, float)}


def test_all_of_them_hold_the_same_bits(several: list[tuple[Any, ...]]) -> None:
    first, *others = (found[0] for found in several)
    for case, result in first.items():
        for name in result.keys() - {"rows"}:
            for other in others:
                assert result[name].tobytes() == other[case][name].tobytes(), f"{case}: {name}"


@pytest.mark.parametrize("regime", ["1-n", "1-k"])
def test_the_parts_of_a_batch_are_the_batch(
    alone: tuple[Any, ...], several: list[tuple[Any, ...]], regime: str
) -> None:
    whole = alone[1][regime]
    assert any(term[0] == "sample" for batch in whole for term in batch)
    for number, batch in enumerate(whole):
        parts = [found[1][regime][number] for found in several]
        counts = [part.pop(0) for part in parts]
        assert set(counts) == {batch[0]}
        assert sorted(term for part in parts for term in part) == sorted(batch[1:])


def test_the_same_ranks_come_out(alone: tuple[Any, ...], several: list[tuple[Any, ...]]) -> None:
    for found in several:
        assert_same_ranks(found[2][0], alone[2][0])


def assert_same_ranks(found: RankTable, expected: RankTable) -> None:
    """All columns are equal but the scores, which are close."""
    assert found.table.drop_columns(["score"]).equals(expected.table.drop_columns(["score"]))
    np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-5, atol=1e-6)


def test_one_process_in_trouble_is_all_in_trouble(several: list[tuple[Any, ...]]) -> None:
    said = {found[2][1] for found in several}
    assert len(said) == 1
    assert "no rank can be told from scores that are not finite" in said.pop()


def test_processes_that_were_given_other_settings_are_refused(
    alone: tuple[Any, ...], several: list[tuple[Any, ...]]
) -> None:
    said = {found[2][2] for found in several}
    assert len(said) == 1
    assert said.pop().startswith("the processes do not train on the same triples with the same")
    assert alone[2][2] == ""


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WORLD_SIZE": "4"},  # of another program: nobody to meet
        {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"},
    ],
)
def test_without_others_a_process_is_alone(environment: dict[str, str]) -> None:
    with joined(environment) as world:
        assert world is ALONE


def test_each_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    two = World(0, 2, neighbours=2)
    check_devices(torch.device("cpu"), World(0, 9, neighbours=9))
    check_devices(torch.device("cuda:1"), ALONE)
    check_devices(torch.device("cuda"), two)
    with pytest.raises(ConfigError, match="'cuda:1' is one GPU for 2 processes"):
        check_devices(torch.device("cuda:1"), two)
    with pytest.raises(ConfigError, match="3 processes on a machine with 2 GPUs"):
        check_devices(torch.device("cuda"), World(0, 3, neighbours=3))


def test_a_launcher_is_told_from_others_by_its_process() -> None:
    assert job({}) == ""
    number, began = job({"TORCHELASTIC_RUN_ID": "none"}).removeprefix("none ").split()
    assert int(number) == os.getppid()
    assert int(began) > 0
    assert job({"TORCHELASTIC_RUN_ID": "none"}) == job({"TORCHELASTIC_RUN_ID": "none"})


def of_codex_s(world: World, folder: str) -> tuple[RankTable, list[Counter[tuple[Any, ...]]]]:
    """A rank table of random weights, and what an epoch of mixup trains on in both regimes."""
    graph = load(folder)
    config = resolve(apply_overrides(Config(), ["strategy.name=mixup"]), graph)
    model = LinkPredictor.build(config.model, graph, seed=1).eval()
    table = rank_split(ModelScorer(model), graph, "test", world=world)
    strategy = find("strategy", "mixup")(graph, config.strategy, config.training)
    strategy.start_epoch(1, 0)
    found = []
    for batches in (QueryBatches(graph, 128), TripleBatches(graph, 1024, 100)):
        terms: Counter[tuple[Any, ...]] = Counter()
        for batch in batches.epoch(torch.Generator().manual_seed(1)):
            item = prepare(batch, strategy, config.training, graph.num_entities)
            terms.update(_terms(share(item, world))[1:])
        found.append(terms)
    return table, found


@pytest.mark.long
@pytest.mark.parametrize("size", [2, 3])
def test_codex_s_is_shared_without_a_rest(shared_data: Path, size: int) -> None:
    folder = str(shared_data / "codex-s")
    table, whole = of_codex_s(ALONE, folder)
    kinds = [Counter(term[0] for term in terms.elements()) for terms in whole]
    assert kinds == [
        {"query": 11_867, "edge": 65_776, "sample": 65_630},
        {"query": 65_776, "edge": 65_776, "sample": 65_630, "negatives": 65_776},
    ]
    parts = together(size, of_codex_s, folder)
    for part in parts:
        assert_same_ranks(part[0], table)
    for number, terms in enumerate(whole):
        assert sum((part[1][number] for part in parts), Counter()) == terms
