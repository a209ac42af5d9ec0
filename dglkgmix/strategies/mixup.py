"""KG-Mixup: synthetic samples for triples whose tail-relation degree is low.

With ``fixed_lambda = 1`` it is equivalent to over-sampling: the control of claims on mixing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from typing_extensions import Never

from dglkgmix.config import StrategyConfig, TrainingConfig
from dglkgmix.kg.degrees import mixing_summary
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.sampling.mixup import draw_lambda
from dglkgmix.sampling.partners import Partners, PartnerSampler
from dglkgmix.sampling.rivals import draw_rivals
from dglkgmix.sampling.seeds import derive, generator
from dglkgmix.strategies.base import Strategy, SyntheticBatch


class Mixup(Strategy):
    """KG-Mixup (Shomer et al., 2023, 4): partners and λ of a whole epoch are drawn at its start.

    With ``draws`` = s below k an epoch has s of the min(k, |C|) partners of a triple, each
    weighing min(k, |C|) / s. As s of a uniform sample are a uniform sample, that many are drawn at
    once. With ``share`` = p below 1 an epoch has each triple with a chance of p, and its samples
    weigh 1 / p of that. Over the draws, L_Mix and its gradient have the mean that they have with
    all partners of all triples.

    Softmax over all entities sums over a batch's synthetic tails and over ``rivals`` others, drawn
    for each batch and weighted to stand for the rest.
    """

    reads = (
        "threshold",
        "partners",
        "draws",
        "share",
        "rivals",
        "partner_rule",
        "alpha",
        "lambda_range",
        "fixed_lambda",
        "synthetic_weight",
        "synthetic_bias",
    )
    two_stage = True
    averaged = True

    def __init__(
        self, kg: KnowledgeGraph, config: StrategyConfig[Never], training: TrainingConfig
    ) -> None:
        super().__init__(kg, config, training)
        draws, rule = _draws(config), config.partner_rule
        self._sampler = PartnerSampler(kg, config.threshold, draws, rule, config.share)
        candidates = self._sampler.candidates
        self._all = candidates.clamp(max=config.partners)
        self._all[kg.degrees.edge_tail_relation >= config.threshold] = 0
        self._weights: Tensor | None = None
        if draws < config.partners or config.share < 1:
            drawn = candidates.clamp(min=1, max=draws) * config.share
            self._weights = self._all / drawn
        self._drawn: tuple[Partners, Tensor] | None = None
        softmax_over_all = training.loss == "ce" and training.regime == "1-n"
        self._rivals = config.rivals if softmax_over_all else "all"

    @classmethod
    def samples_of_epoch(cls, kg: KnowledgeGraph, config: StrategyConfig) -> int:
        """min(s, candidates), summed over the triples below the threshold, times the share."""
        rules = (config.threshold, _draws(config), config.partner_rule, config.share)
        return mixing_summary(kg, *rules)["synthetic_per_epoch"]

    def start_epoch(self, epoch: int, seed: int) -> None:
        """Draw partners and λ."""
        self._chance = np.random.default_rng(derive(seed, "rivals", epoch))
        partners = self._sampler.draw(derive(seed, "partners", epoch))
        fixed = self.config.fixed_lambda
        lam = draw_lambda(
            len(partners),
            self.config.alpha,
            generator=generator(seed, "lambda", epoch),
            lambda_range=self.config.lambda_range,
            fixed=None if fixed == "none" else fixed,
        )
        self._drawn = partners, lam

    def synthetic(self, edges: Tensor) -> SyntheticBatch | None:
        """The epoch's samples of these positives."""
        if self._drawn is None:
            raise RuntimeError("call start_epoch before asking for synthetic samples")
        partners, lam = self._drawn
        positions, samples = partners.of_edges(edges)
        if len(samples) == 0:
            return None
        second = partners.partners[samples]
        triples, augmented = self.kg.edges, edges[positions]
        first, rivals = triples[augmented], None
        if self._rivals != "all":
            rivals = draw_rivals(first[:, 2], self.kg.num_entities, self._rivals, self._chance)
        return SyntheticBatch(
            first=first,
            second=triples[second],
            lam=torch.index_select(lam, 0, samples),
            positions=positions,
            partners=second,
            weights=None if self._weights is None else self._weights[augmented],
            # Drawn or not: the mean over draws is that of all terms.
            terms=int(self._all[edges].sum()),
            rivals=rivals,
        )

    def coverage(self) -> dict[str, int]:
        """``below_threshold``, ``without_partner`` and ``synthetic_per_epoch``."""
        return dict(self._sampler.coverage)


def _draws(config: StrategyConfig) -> int:
    return config.partners if config.draws == "all" else config.draws
