"""Two and three processes against one: the same batches, the same weights, the same ranks."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from dglkgmix.errors import NumericError
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.rank_split import rank_split
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.batch_norm import share_statistics
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.config import Config
from dglkgmix.training.config_io import apply_overrides
from dglkgmix.training.defaults import resolve
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
    "complex 1-n adjusted": (
        "model.decoder=complex",
        "strategy.name=logit-adjustment",
        "training.loss=ce",
    ),
}


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


def trained(world: World) -> dict[str, Any]:
    """Two epochs of each case in float64, where rounding leaves what Adam makes of it small."""
    torch.set_default_dtype(torch.float64)
    try:
        return {name: _trained(begin(world, *PLAIN, *options)) for name, options in CASES.items()}
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


def ranked(world: World) -> tuple[bytes, str]:
    """A rank table, and what is said where one process has a score that is not finite."""
    config = resolve(apply_overrides(Config(), SMALL), kg())
    model = LinkPredictor.build(config.model, kg(), seed=3).eval()
    table = rank_split(ModelScorer(model), kg(), "test", world=world)
    broken = ModelScorer(model)
    if world.index == world.size - 1:
        broken.vectors.entities.detach()[:] = torch.nan
    try:
        rank_split(broken, kg(), "test", world=world)
    except NumericError as error:
        return table.to_bytes(), str(error)
    return table.to_bytes(), ""


def everything(world: World) -> tuple[Any, ...]:
    return trained(world), drawn(world), ranked(world)


@pytest.fixture(scope="module")
def alone() -> tuple[Any, ...]:
    return everything(ALONE)


@pytest.fixture(scope="module", params=[2, 3])
def several(request: pytest.FixtureRequest) -> list[tuple[Any, ...]]:
    return together(request.param, everything)


@pytest.mark.parametrize("case", CASES)
def test_without_dropout_they_train_what_one_process_trains(
    alone: tuple[Any, ...], several: list[tuple[Any, ...]], case: str
) -> None:
    for found in several:
        expected, result = alone[0][case], found[0][case]
        for before, after in zip(expected["rows"], result["rows"], strict=True):
            assert {k: v for k, v in after.items() if not isinstance(v, float)} == {
                k: v for k, v in before.items() if not isinstance(v, float)
            }
            for name in ("loss", "kg_loss", "synthetic_loss", "gradient_norm", "valid_mrr"):
                assert after[name] == pytest.approx(before[name], rel=1e-9), name
        assert result.keys() == expected.keys()
        for name in expected.keys() - {"rows"}:
            np.testing.assert_allclose(
                result[name], expected[name], rtol=1e-6, atol=1e-7, err_msg=name
            )


def test_all_of_them_hold_the_same_bits(several: list[tuple[Any, ...]]) -> None:
    for case in CASES:
        first, *others = (found[0][case] for found in several)
        for other in others:
            for name in first.keys() - {"rows"}:
                assert first[name].tobytes() == other[name].tobytes(), f"{case}: {name}"


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


def test_the_same_rank_table_comes_out(
    alone: tuple[Any, ...], several: list[tuple[Any, ...]]
) -> None:
    for found in several:
        assert found[2][0] == alone[2][0]


def test_one_process_in_trouble_is_all_in_trouble(several: list[tuple[Any, ...]]) -> None:
    said = {found[2][1] for found in several}
    assert len(said) == 1
    assert "no rank can be told from scores that are not finite" in said.pop()
