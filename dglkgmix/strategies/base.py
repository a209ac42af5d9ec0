"""What a strategy against degree bias may add to an epoch; the trainer knows none by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import StrategyConfig, TrainingConfig
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.losses.pointwise import Focus
from dglkgmix.losses.targets import Offsets
from dglkgmix.sampling.rivals import Rivals


@dataclass(frozen=True, eq=False)
class SyntheticBatch:
    """S synthetic samples that belong to a batch's positives.

    Attributes:
        first: (S, 3) long, the augmented triples; their tails are the answers.
        second: (S, 3) long, their partners, with the same tails.
        lam: (S,) float, λ: the share of the first.
        positions: (S,) long, ascending, which of the batch's positives each belongs to.
        partners: (S,) long, row of each partner in ``kg.edges``.
        weights: (S,) float, factors of the samples' terms, or None for 1.
        terms: number of samples that these stand for, which "mean" divides L_Mix by; None for S.
        rivals: the entities that softmax over all sums over, or None for all.
    """

    first: Tensor
    second: Tensor
    lam: Tensor
    positions: Tensor
    partners: Tensor
    weights: Tensor | None = None
    terms: int | None = None
    rivals: Rivals | None = None

    def __len__(self) -> int:
        """Number S of samples."""
        return len(self.lam)


class Adjustment(Protocol):
    """Constants that are added to scores in training alone.

    What is equal for all tails of a query may be left out: softmax does not see it.
    """

    def entries(self, relations: Tensor) -> Offsets:
        """The non-zero ones of queries with relations (B,), over all entities."""
        ...

    def at(self, relations: Tensor, candidates: Tensor) -> Tensor:
        """Those (B, C) of candidates (B, C) of queries with relations (B,)."""
        ...


class Strategy:
    """Plain training; the others override what they change.

    All randomness of an epoch follows from (seed, epoch), given to :meth:`start_epoch`, and from
    the order of its batches.
    Ids go in and come out on the CPU. E, M as in :class:`KnowledgeGraph`; P positives of a batch.

    Args:
        kg: the graph.
        config: the strategy's options.
        training: the stage's options: regime and loss.

    Attributes:
        focus: the focal factor of every term, or None.
        scaled: whether a batch's weights are scaled to mean 1 over all its terms.
        adjustment: what is added to scores in training, or None.
        reads: the options of ``[strategy]`` that it reads.
        losses: the losses it works with.
        two_stage: whether training has a first stage unless ``pretrain.enabled`` says otherwise.
        averaged: whether weights are averaged unless ``swa.enabled`` says otherwise.
    """

    reads: tuple[str, ...] = ()
    losses: tuple[str, ...] = ("bce", "ce")
    two_stage = False
    averaged = False

    focus: Focus | None = None
    scaled: bool = False
    adjustment: Adjustment | None = None

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig[Never], training: TrainingConfig
    ) -> None:
        self.kg = kg
        self.config = config
        self.training = training

    def start_epoch(self, epoch: int, seed: int) -> None:
        """Draw what epoch ``epoch`` needs."""

    def epoch_edges(self) -> Tensor | None:
        """1-K: rows (N,) of ``kg.edges`` to train on this epoch, repeats allowed; None for all."""
        return None

    @classmethod
    def samples_of_epoch(cls, kg: KnowledgeGraph, config: StrategyConfig) -> int:
        """How many synthetic samples an epoch has, known before anything is made."""
        return 0

    @property
    def extra_triples(self) -> int:
        """1-K: how many more than M triples :meth:`epoch_edges` holds."""
        return 0

    def positive_weights(self, edges: Tensor) -> Tensor | None:
        """Factors (P,) of the terms of positives, rows (P,) of ``kg.edges``; None for 1."""
        return None

    def synthetic(self, edges: Tensor) -> SyntheticBatch | None:
        """Synthetic samples of positives, rows (P,) of ``kg.edges``; None for none."""
        return None

    def coverage(self) -> dict[str, int]:
        """Numbers of the triples that the strategy treats; empty where these are none or all."""
        return {}
