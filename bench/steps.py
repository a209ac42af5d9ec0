"""Training steps of dglkgmix, as ``dglkgmix train`` makes them, a number of batches at a time."""

from __future__ import annotations

from functools import cache
from itertools import chain, count, islice
from typing import Any

import torch

from dglkgmix.allocator import keep_freed_memory
from dglkgmix.config import (
    Config,
    ModelConfig,
    PretrainConfig,
    RuntimeConfig,
    StrategyConfig,
    SwaConfig,
    TrainingConfig,
)
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.sources import load
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.training.device import seeded
from dglkgmix.training.launch import settled
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_loop import StageLoop
from dglkgmix.training.stage_state import StageState
from dglkgmix.training.stages import stages

# Dropouts of TuckER on FB15k-237 (its authors').
TUCKER = {"input_dropout": 0.3, "hidden_dropout1": 0.4, "hidden_dropout2": 0.5}


def settings(
    decoder: str = "conve",
    regime: str = "1-n",
    batch: int = 128,
    strategy: str = "standard",
    *,
    dim: int = 200,
    device: str = "cpu",
    precision: str = "auto",
    **training: Any,
) -> Config:
    """One stage with the paper's sizes."""
    model = TUCKER if decoder == "tucker" else {}
    loss = "ce" if strategy == "logit-adjustment" else "bce"
    paper = {"epochs": 1, "lr": 1e-3, "loss": loss, "optimizer": "adam", "validate_every": 10**9}
    return Config(
        model=ModelConfig(decoder=decoder, entity_dim=dim, **model),  # type: ignore[arg-type]
        training=TrainingConfig(
            **{**paper, **training},
            regime=regime,  # type: ignore[arg-type]
            batch_size=batch,
        ),
        strategy=StrategyConfig(name=strategy),  # type: ignore[arg-type]
        pretrain=PretrainConfig(enabled=False),
        swa=SwaConfig(enabled=False),
        runtime=RuntimeConfig(device=device, precision=precision),  # type: ignore[arg-type]
    )


def begin(kg: KnowledgeGraph, config: Config) -> StageLoop:
    """The loop of the only stage, with fresh weights."""
    checked = settled(kg, config)
    (stage,) = stages(checked)
    model = LinkPredictor.build(stage.model, kg, seed=1).to(checked.runtime.device)
    work = StageState(stage, model)
    return StageLoop(kg, work, checked.runtime, seed=1, progress=Progress())


@cache
def graph(name: str) -> KnowledgeGraph:
    """The graph of a data set."""
    return load(name)


class Steps:
    """Batches of epoch after epoch; the memory allocator set as the command line sets it."""

    def __init__(self, kg: KnowledgeGraph, config: Config) -> None:
        keep_freed_memory()
        self.loop = begin(kg, config)
        self._device = torch.device(config.runtime.device)
        self._batches = chain.from_iterable(map(self.loop.draw, count(1)))

    def __call__(self, number: int) -> dict[str, Any]:
        """Make ``number`` steps, as an epoch of as many batches."""
        self.loop.draw = lambda epoch: islice(self._batches, number)
        with seeded(1, self._device):
            row = self.loop.epoch()
        return {"batches_of_epoch": len(self.loop), "positives": row.positives, "loss": row.loss}
