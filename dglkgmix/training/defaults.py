"""What "auto" and "same" mean on a given graph and machine."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

import torch

from dglkgmix.config import (
    Config,
    PretrainConfig,
    Settled,
    TrainingConfig,
)
from dglkgmix.config.base import VALUES, settled, with_softmax
from dglkgmix.config.classes import find
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.decoder import Decoder
from dglkgmix.training.device import pick_device, pick_precision
from dglkgmix.training.stages import shared

# Edges M, reciprocal ones included, below which a graph counts as small.
_SMALL = 50_000
# Entities E whose vectors of 512 numbers, with what Adagrad keeps of each, take 1 GiB.
_MANY = 250_000
# Edges of an entity above which a graph counts as dense: UMLS has 77, CoDEx-S 32.
_DENSE = 60
# A batch brings its synthetic samples along, six a query on FB15k-237, and ConvE keeps 40 kB of
# each row several times over: 8,192 queries took 8.7 GiB there, 2,048 took 2.9.
_FULL_GRAPH_QUERIES = 2048


def resolve(config: Config, kg: KnowledgeGraph) -> Settled:
    """``config`` without "auto" and "same": what a run folder records.

    Resolving a resolved configuration changes nothing.
    """
    decoder, model = find("decoder", config.model.decoder), config.model
    dim: int = _settle(
        model.entity_dim, entity_dim(kg.num_edges, kg.num_entities, softmax=with_softmax(config))
    )
    averaged = find("strategy", config.strategy.name).averaged
    runtime, device = config.runtime, pick_device(config.runtime.device)
    resolved = dataclasses.replace(
        config,
        model=dataclasses.replace(
            model,
            entity_dim=dim,
            relation_dim=_settle(model.relation_dim, dim),
            bias=_settle(model.bias, decoder.bias_by_default),
            input_dropout=settled(config, "input_dropout", model.input_dropout),
            **decoder.settle(model, dim),
        ),
        training=_training(config.training, config, kg),
        pretrain=_pretrain(config, kg),
        strategy=dataclasses.replace(
            config.strategy,
            synthetic_weight=settled(config, "synthetic_weight", config.strategy.synthetic_weight),
        ),
        swa=dataclasses.replace(config.swa, enabled=_settle(config.swa.enabled, averaged)),
        runtime=dataclasses.replace(
            runtime,
            device=str(device),
            precision=pick_precision(runtime.precision, device),
            threads=_settle(runtime.threads, torch.get_num_threads()),
        ),
    )
    return cast(Settled, resolved)


def entity_dim(num_edges: int, num_entities: int, *, softmax: bool) -> int:
    """A dimension that M edges can fill: 200 as in the paper from CoDEx-S's size up.

    More where the N3 penalty keeps vectors from fitting every triple, and memory allows it.
    """
    if softmax:
        return 512 if num_edges >= _SMALL and num_entities < _MANY else 256
    if num_edges < 5_000:
        return 72
    return 128 if num_edges < _SMALL else 200


def epochs(num_edges: int, decoder: type[Decoder]) -> int:
    """A ceiling that early stopping seldom lets a training reach; about 3·10⁷ triples.

    Fewer for a decoder whose epochs are slow.
    """
    return max(20, min(decoder.most_epochs, round(3e7 / max(num_edges, 1))))


def after_parent(epochs: int) -> int:
    """A quarter: most of what a training learns, its parent has learnt (bench/moving.py)."""
    return math.ceil(epochs / 4)


def learning_rate(
    optimizer: str, num_edges: int, decoder: type[Decoder], *, softmax: bool = False
) -> float:
    """Adagrad's 0.01, and 0.1 of Lacroix et al. where it is their loss that is trained.

    Adam's own 0.001, three times that on small graphs, whose epochs have few steps, and for a
    decoder that asks for it.
    """
    if optimizer == "adagrad":
        return 0.1 if softmax else 0.01
    return 0.003 if num_edges < _SMALL or decoder.long_vectors else 0.001


def n3(num_edges: int, num_entities: int) -> float:
    """Weight of the N3 penalty, chosen on validation (docs/guides/own-graph.md).

    The penalty counts a vector once for every triple, so a dense graph needs less of it.
    """
    if num_edges > _DENSE * num_entities:
        return 0.005
    return 0.05 if num_edges < _SMALL else 0.02


def batch_size(regime: str, whole_graph: bool, size: int) -> int:
    """Queries (1-N) or triples (1-K) of a batch, from the number there are.

    Small graphs want many steps more than wide ones. A full-graph encoder pays for its whole graph
    in every batch, so it gets few large ones.
    """
    if whole_graph:
        most = _FULL_GRAPH_QUERIES if regime == "1-n" else 2 * _FULL_GRAPH_QUERIES
        return min(size, most, max(256, _power_of_two(size / 16)))
    wanted = max(32, min(256, _power_of_two(size / 64)))
    return min(size, wanted if regime == "1-n" else 4 * wanted)


def validate_every(num_edges: int) -> int:
    """Epochs between validations: 5 on small graphs, each epoch from CoDEx-M's size up.

    It does not depend on the number of epochs: a training that is extended must have validated at
    the same ones.
    """
    return max(1, min(5, round(5e5 / max(num_edges, 1))))


def _power_of_two(size: float) -> int:
    """The largest power of two up to ``size``, at least 1."""
    return int(2 ** math.floor(math.log2(max(size, 1))))


def _training(training: TrainingConfig, config: Config, kg: KnowledgeGraph) -> TrainingConfig:
    queries = len(kg.train_index.heads)
    size = queries if training.regime == "1-n" else kg.num_edges
    whole_graph = find("encoder", config.model.encoder).passes_whole_graph
    decoder = find("decoder", config.model.decoder)
    most = epochs(kg.num_edges, decoder)
    softmax = with_softmax(config)
    base = {
        name: settled(config, name, getattr(training, name))
        for name in VALUES
        if hasattr(training, name)
    }
    training = dataclasses.replace(training, **base)
    return dataclasses.replace(
        training,
        n3=_settle(training.n3, n3(kg.num_edges, kg.num_entities) if softmax else 0.0),
        epochs=_settle(training.epochs, after_parent(most) if training.parent else most),
        batch_size=_settle(training.batch_size, batch_size(training.regime, whole_graph, size)),
        lr_decay=_settle(training.lr_decay, 0.5 if training.schedule == "plateau" else 1.0),
        lr=_settle(
            training.lr, learning_rate(training.optimizer, kg.num_edges, decoder, softmax=softmax)
        ),
        smoothing_mass=_settle(training.smoothing_mass, training.label_smoothing),
        negatives=_settle(training.negatives, max(1, min(100, kg.num_entities - 1))),
        validate_every=_settle(training.validate_every, validate_every(kg.num_edges)),
    )


def _pretrain(config: Config, kg: KnowledgeGraph) -> PretrainConfig:
    """The first stage's settings: its own, the main stage's where "same", then settled.

    "auto" of the main stage is settled anew, as the first stage may have another regime.
    """
    values = dataclasses.asdict(config.pretrain)
    for name, value in values.items():
        if value == "same":
            section = config.training if hasattr(config.training, name) else config.model
            values[name] = getattr(section, name)
    like_main = dataclasses.replace(config.training, **shared(config.training, values))
    training = _training(like_main, config, kg)
    values |= {k: v for k, v in dataclasses.asdict(training).items() if k in values}
    values["input_dropout"] = settled(config, "input_dropout", values["input_dropout"])
    strategy = find("strategy", config.strategy.name)
    two_stage = bool(config.pretrain.run) or (strategy.two_stage and not config.training.parent)
    values["enabled"] = _settle(config.pretrain.enabled, two_stage)
    return PretrainConfig(**values)


def _settle(value: Any, automatic: Any) -> Any:
    return automatic if value == "auto" else value
